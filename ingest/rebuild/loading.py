"""Model calls straight from a store."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..calls import ModelCall
from ..spans import LogRecord, Span, TraceId
from .assembly import rebuild_calls

if TYPE_CHECKING:
    from ..store import Store


TRACES_AT_ONCE = 32
"""Read in one pass over the store, which costs little more than one alone."""


def read_traces(store: "Store", trace_ids: Sequence[TraceId]) -> Iterator[tuple[list[Span], list[LogRecord]]]:
    """Yields the spans and log records of traces, in their order; a few traces are in memory at a time."""
    for start in range(0, len(trace_ids), TRACES_AT_ONCE):
        yield from store.traces(trace_ids[start : start + TRACES_AT_ONCE]).values()


def load_calls(store: "Store", trace_id: TraceId) -> list[ModelCall]:
    """Returns the model calls of one trace, in start order."""
    return rebuild_calls(store.spans(trace_id), store.logs(trace_id))


def load_run(store: "Store", reference: str) -> list[ModelCall]:
    """Returns the model calls that `last`, a trace id or its beginning, or a session id stands for, in start order.

    The traces of a session are one run: a request may hold only what is new since a call in an earlier trace.
    Raises what `Store.resolve_traces` raises.
    """
    traces = store.resolve_traces(reference)
    spans = [span for trace_id in traces for span in store.spans(trace_id)]
    logs = [record for trace_id in traces for record in store.logs(trace_id)]
    return rebuild_calls(spans, logs)
