"""Guard cases: decisions that were right and must stay right, found in the store by SQL.

Whether a decision was right is nowhere written down, so these are the ones that may be presumed so: calls of the same
tool in other runs, without an error, without a claim about them and without the text that caused the failure in their
context; and what the failing run did before it went wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ingest.calls import ModelCall, ModelReply
from ...ingest.errors import NotReplayableError, UsageError
from ...ingest.rebuild import load_calls
from ...ingest.spans import TraceId
from ...ingest.store.querying import run_query
from ..cases import Case, freeze
from ..desk import Desk
from ..regression.case_file import SUFFIX, read_case_file
from ..segments import segment
from ..targets import NoToolTarget, Target, ToolTarget, select
from .candidates import tools_of

MOST_OF_A_KIND = 3
_LOOKED_AT = 30
"""Decisions that are rebuilt in the search for guard cases."""
_SAME_TOOL = """
SELECT trace_id, span_id FROM decisions
WHERE list_has_any(tool_names, $tools) AND error IS NULL AND claims = 0
  AND model IS NOT DISTINCT FROM $model AND NOT list_contains($failing, trace_id)
ORDER BY started DESC, span_id LIMIT $limit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardCase:
    """A decision that must stay as it is; its target is what was right."""

    case: Case
    reason: str
    """Why it is one, for people."""


def find_guards(desk: Desk, case: Case, cause: Sequence[str], failing: Sequence[Case] = ()) -> tuple[GuardCase, ...]:
    """Returns guard cases from the store.

    Args:
        cause: whitespace-folded texts that cause the failure; decisions that have one in their context do not count.
        failing: other cases of the same failure; their runs do not count.
    """
    same_run = list(_same_run(desk, case))[:MOST_OF_A_KIND]
    same_tool = list(_same_tool(desk, case, cause, failing))[:MOST_OF_A_KIND]
    found = {guard.case.id: guard for guard in (*same_tool, *same_run)}
    return tuple(found.values())


def _same_run(desk: Desk, case: Case) -> Iterator[GuardCase]:
    """Yields the calls before the failing one, the latest first, one for each kind of outcome."""
    if not case.origin.trace_id:
        return
    seen = set()
    before = (
        c for c in reversed(load_calls(desk.store, TraceId(case.origin.trace_id))) if c.start_ns < case.origin.start_ns
    )
    for call in before:
        guard = _guard(call, f"this run, span {call.span_id[:8]}")
        if guard and not _is_failure(call, case) and guard.case.target.spec not in seen:
            seen.add(guard.case.target.spec)
            yield guard


def _same_tool(desk: Desk, case: Case, cause: Sequence[str], failing: Sequence[Case]) -> Iterator[GuardCase]:
    """Yields calls of the same tool in other runs, the latest first.

    Without a cause, and without conditions in the target, a right call cannot be told from a wrong one: then there are
    none.
    """
    tools = tools_of(case.target)
    tells_by_reply = not isinstance(case.target, ToolTarget) or bool(case.target.conditions)
    if not tools or not (cause or tells_by_reply):
        return
    runs = [c.origin.trace_id for c in (case, *failing)]
    parameters = {"tools": tools, "model": case.request.get("model"), "failing": runs, "limit": _LOOKED_AT}
    for trace_id, span_id in run_query(desk.store, _SAME_TOOL, parameters).rows:
        call = next((c for c in load_calls(desk.store, TraceId(trace_id)) if c.span_id == span_id), None)
        if call is None or (tells_by_reply and _is_failure(call, case)):
            continue
        guard = _guard(call, f"{tools[0]} in run {trace_id[:8]}")
        if guard and not _says(guard.case, cause):
            yield guard


def _is_failure(call: ModelCall, case: Case) -> bool:
    return any(case.target.matches(reply) for reply in call.replies)


def _says(case: Case, cause: Sequence[str]) -> bool:
    return bool(segment(case.api, case.request).groups_saying(cause)) if cause else False


def _guard(call: ModelCall, reason: str) -> GuardCase | None:
    """Returns the guard case of a call; None when it has no reply, or cannot be replayed."""
    if not call.replies or call.replies[0].error:
        return None
    try:
        return GuardCase(case=freeze(call, right_outcome(call.replies[0])), reason=reason)
    except NotReplayableError:
        return None


def right_outcome(reply: ModelReply) -> Target:
    """Returns what must stay: that the same tool is called, whatever its arguments, or that none is."""
    return ToolTarget(reply.tool_calls[0].name) if reply.tool_calls else NoToolTarget()


def guard_of(desk: Desk, run: str, event: str) -> GuardCase:
    """Returns the guard case that RUN and EVENT name; EVENT is what must stay."""
    call, target = select(desk.calls(run), event)
    return GuardCase(case=freeze(call, target), reason=f"{run} {event}")


def guards_in(path: Path) -> tuple[GuardCase, ...]:
    """Returns the guard cases of a case file or of a folder of them; their targets are what must stay."""
    files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{path} holds no case files", hint=f"their names end in {SUFFIX}")
    return tuple(GuardCase(case=read_case_file(f).case, reason=f.name.removesuffix(SUFFIX)) for f in files)
