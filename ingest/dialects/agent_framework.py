"""Microsoft agent-framework: the GenAI conventions, with the number of choices written as 1 when it was not set.

Source: agent_framework, `observability.py`. Tools and settings are on the enclosing `invoke_agent` span.
"""

from collections.abc import Sequence

from ..spans import LogRecord, Span
from .fields import NEVER_IN_SEMCONV
from .partial import PartialCall
from .semconv import role_of
from .values import as_int

NAME = "agent_framework"

_SWITCH = "ENABLE_SENSITIVE_DATA=true"


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the corrections for an agent-framework span; None for other spans."""
    role = role_of(span)
    if role is None or not span.scope.name.startswith("agent_framework"):
        return None
    is_default = as_int(span.attributes.get("gen_ai.request.choice.count")) == 1
    return PartialCall(
        role=role,
        retracted={"n": "agent-framework writes 1 also when nothing was sent"} if is_default else {},
        unrecorded=NEVER_IN_SEMCONV,
        content_switch=_SWITCH,
    )
