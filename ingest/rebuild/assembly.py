"""The whole way from spans and logs to model calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..calls import Api, ModelCall, ModelReply, Usage
from ..dialects.partial import Found, PartialCall, Role
from ..dialects.registry import dialects
from ..spans import LogRecord, Span, StatusCode
from .completeness import assess
from .context import RunTools, add_context
from .continuation import complete_cut_list, name_predecessor
from .encoding import encode_body
from .endpoint import choose_api
from .grouping import Draft, Tree, group_calls
from .implied import implied_drafts
from .reading import Key, Reading, read_spans
from .repair import History, repair_history


def rebuild_calls(spans: Sequence[Span], logs: Sequence[LogRecord]) -> list[ModelCall]:
    """Returns the model calls of one or more traces, in start order.

    Logs may be any that belong to the traces; those of other spans are ignored. Spans that whyspan wrote are skipped.
    Traces of one session are one run: a client without an application span makes a trace for each call.
    """
    readings = read_spans(spans, logs, dialects())
    tree = Tree(spans, readings)
    drafts = [*group_calls(readings, tree), *implied_drafts(readings, tree)]
    sessions = {d.span.trace_id: d.partial.session_id.value for d in drafts if d.partial.session_id is not None}
    runs: dict[str, list[Draft]] = {}
    for draft in sorted(drafts, key=lambda d: (d.span.start_ns, d.span.end_ns)):
        runs.setdefault(sessions.get(draft.span.trace_id, draft.span.trace_id), []).append(draft)
    tools: dict[str, list[Reading]] = {}
    for reading in readings:
        if reading.role is Role.TOOL:
            tools.setdefault(sessions.get(reading.span.trace_id, reading.span.trace_id), []).append(reading)
    requests = _http_requests(readings, tree)
    calls = [call for key, run in runs.items() for call in _rebuild_run(run, tree, tools.get(key, ()), requests)]
    return sorted(calls, key=lambda c: (c.start_ns, c.end_ns))


def _rebuild_run(
    drafts: Sequence[Draft], tree: Tree, tools: Sequence[Reading], requests: Mapping[Key, PartialCall]
) -> Iterator[ModelCall]:
    """Yields the calls of one run; what the models answered before completes what they were asked after."""
    history = History()
    run = RunTools.of([draft.partial for draft in drafts], tools)
    earlier: list[PartialCall] = []
    for draft in drafts:
        partial = repair_history(draft.partial, history)
        partial = complete_cut_list(partial, earlier)
        partial = _with_destination(partial, draft, requests)
        if choose_api(partial).value is Api.OPENAI_RESPONSES:
            partial = name_predecessor(partial, history)
        earlier.append(partial)
        if partial.replies is not None:
            history.add(partial.replies.value)
        yield _assemble(draft, add_context(partial, draft, tree, run))


def _assemble(draft: Draft, partial: PartialCall) -> ModelCall:
    span = draft.span
    api = choose_api(partial, [m.span.scope.name for m in draft.members])
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


def _with_destination(call: PartialCall, draft: Draft, requests: Mapping[Key, PartialCall]) -> PartialCall:
    """Returns the call with the API and server of the HTTP request under it, where it does not name them itself."""
    sent = next((requests[m.key] for m in draft.members if m.key in requests), None)
    return replace(call, api=call.api or sent.api, base_url=call.base_url or sent.base_url) if sent else call


def _http_requests(readings: Sequence[Reading], tree: Tree) -> dict[Key, PartialCall]:
    """Returns the HTTP request under each model call."""
    requests: dict[Key, PartialCall] = {}
    for reading in readings:
        if reading.role is Role.TRANSPORT:
            call = next((r for r in tree.ancestors(reading.span) if r.role is Role.CALL), None)
            if call is not None:
                requests[call.key] = reading.partial
    return requests


def _value(found: Found[str] | None) -> str:
    return found.value if found else ""


def _replies(draft: Draft, partial: PartialCall) -> tuple[ModelReply, ...]:
    if partial.replies is not None:
        return partial.replies.value
    failed = [m.span for m in draft.members if m.span.status_code == StatusCode.ERROR]
    return (ModelReply(error=failed[0].status_message or "error"),) if failed else ()
