"""Picks the model call and the outcome that an EVENT names among the calls of a run."""

import re
from collections.abc import Sequence

from ...ingest.calls import ModelCall
from ...ingest.errors import NotFoundError, NotReplayableError
from ...ingest.rebuild import unfold
from .grammar import parse_target
from .outcomes import ErrorTarget, JudgeTarget, NoToolTarget, SameCallsTarget, Target


def select(calls: Sequence[ModelCall], event: str) -> tuple[ModelCall, Target]:
    """Picks the model call that EVENT names among the calls of a run, and the outcome it asks about.

    A request that goes on from an earlier response comes with the conversation before it, where the run holds it.

    Raises UsageError for an event that is not in the grammar, NotFoundError when no call has the outcome. A judged
    outcome is asked about the last call: which one has it would take a model to say.
    """
    call, target = _pick(calls, event)
    return unfold(call, calls), target


def _pick(calls: Sequence[ModelCall], event: str) -> tuple[ModelCall, Target]:
    if not calls:
        raise NotFoundError(
            "the run has no model call",
            hint="whyspan reads OpenTelemetry GenAI and OpenInference spans; `whyspan show` lists what was recorded",
        )
    if event in {"last", ""}:
        return _as_it_was(calls[-1])
    if number := re.fullmatch(r"#(\d+)", event):
        index = int(number[1])
        if not 1 <= index <= len(calls):
            raise NotFoundError(f"the run has {len(calls)} model calls, so there is no {event}", hint=events_of(calls))
        return _as_it_was(calls[index - 1])
    if event.startswith("span:"):
        found = [c for c in calls if c.span_id.startswith(event[5:])]
        if len(found) != 1:
            raise NotFoundError(f"{len(found)} model calls of the run have {event}", hint=events_of(calls))
        return _as_it_was(found[0])
    return _last_with(parse_target(event), calls, event)


def _last_with(target: Target, calls: Sequence[ModelCall], event: str) -> tuple[ModelCall, Target]:
    if isinstance(target, JudgeTarget):
        return calls[-1], target
    if not any(call.replies for call in calls):
        raise _without_reply(calls[-1])
    for call in reversed(calls):
        if any(target.matches(reply) for reply in call.replies):
            return call, target
    raise NotFoundError(f"no model call of the run has {event}", hint=events_of(calls))


def events_of(calls: Sequence[ModelCall]) -> str:
    """Returns the events that the calls of a run do have, as a hint."""
    names = dict.fromkeys(c.name for call in calls for reply in call.replies for c in reply.tool_calls)
    events = [f"tool:{n}" for n in names]
    return "events of this run: " + ", ".join([*events, "last", f"#1 … #{len(calls)}" if len(calls) > 1 else "#1"])


def _as_it_was(call: ModelCall) -> tuple[ModelCall, Target]:
    if not call.replies:
        raise _without_reply(call)
    reply = call.replies[0]
    if reply.error:
        return call, ErrorTarget()
    return call, SameCallsTarget.of(reply) if reply.tool_calls else NoToolTarget()


def _without_reply(call: ModelCall) -> NotReplayableError:
    remedy = next((m.remedy for m in call.completeness.missing if m.remedy), None)
    return NotReplayableError(f"the reply of call {call.span_id[:8]} was not recorded", hint=remedy)
