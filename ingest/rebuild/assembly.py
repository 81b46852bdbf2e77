"""The whole way from spans and logs to model calls."""

from collections.abc import Sequence

from ..calls import ModelCall, ModelReply, Usage
from ..dialects.partial import Found, PartialCall, Role
from ..dialects.registry import dialects
from ..spans import LogRecord, Span, StatusCode
from .completeness import assess
from .context import add_context
from .encoding import encode_body
from .endpoint import choose_api
from .grouping import Draft, Tree, group_calls
from .reading import Reading, read_spans


def rebuild_calls(spans: Sequence[Span], logs: Sequence[LogRecord]) -> list[ModelCall]:
    """Returns the model calls of one or more traces, in start order.

    Logs may be any that belong to the traces; those of other spans are ignored. Spans that whyspan wrote are skipped.
    """
    readings = read_spans(spans, logs, dialects())
    tree = Tree(spans, readings)
    tools: dict[str, list[Reading]] = {}
    for reading in readings:
        if reading.role is Role.TOOL:
            tools.setdefault(reading.span.trace_id, []).append(reading)
    calls = []
    for draft in group_calls(readings, tree):
        partial = add_context(draft, tree, tools.get(draft.span.trace_id, ()))
        calls.append(_assemble(draft, partial))
    return calls


def _assemble(draft: Draft, partial: PartialCall) -> ModelCall:
    span = draft.span
    api = choose_api(partial)
    encoded = encode_body(api.value, partial)
    completeness = assess(api.value, partial, encoded)
    service = span.resource.attributes.get("service.name")
    return ModelCall(
        trace_id=span.trace_id,
        span_id=span.span_id,
        api=api.value,
        request=encoded.body,
        replies=_replies(draft, partial),
        completeness=completeness,
        usage=partial.usage.value if partial.usage else Usage(),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        request_model=_value(partial.model),
        provider=_value(partial.provider),
        base_url=_value(partial.base_url),
        service=service if isinstance(service, str) else "",
        session_id=_value(partial.session_id),
        agent=_value(partial.agent),
    )


def _value(found: Found[str] | None) -> str:
    return found.value if found else ""


def _replies(draft: Draft, partial: PartialCall) -> tuple[ModelReply, ...]:
    if partial.replies is not None:
        return partial.replies.value
    failed = [m.span for m in draft.members if m.span.status_code == StatusCode.ERROR]
    return (ModelReply(error=failed[0].status_message or "error"),) if failed else ()
