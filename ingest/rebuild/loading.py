"""Model calls straight from a store."""

from typing import TYPE_CHECKING

from ..calls import ModelCall
from ..spans import TraceId
from .assembly import rebuild_calls

if TYPE_CHECKING:
    from ..store import Store


def load_calls(store: "Store", trace_id: TraceId) -> list[ModelCall]:
    """Returns the model calls of one trace, in start order."""
    return rebuild_calls(store.spans(trace_id), store.logs(trace_id))
