"""From a chosen decision to the case that asks about it."""

from collections.abc import Sequence

from ..ingest.calls import ModelCall
from .cases import Case, freeze
from .selection import Decision
from .targets import ToolTarget, parse_target, select


def freeze_decision(calls: Sequence[ModelCall], decision: Decision) -> Case:
    """Returns the case of a chosen decision, from the calls of its run.

    Without an event it is asked why the tool that was called first was called at all, whatever the arguments; of a
    reply without tools, why it has none. Raises NotReplayableError for a call whose messages were not recorded.
    """
    call, target = select(calls, f"span:{decision.span_id}")
    if decision.event and not decision.event.startswith("span:"):
        target = parse_target(decision.event)
    elif decision.event is None and call.replies[0].tool_calls:
        target = ToolTarget(call.replies[0].tool_calls[0].name)
    return freeze(call, target)
