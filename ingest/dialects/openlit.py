"""OpenLIT: the GenAI conventions, with settings that were never sent and history that was.

Source: openlit, `sdk/python/src/openlit/instrumentation/openai/utils.py`. It writes its own defaults for settings that
the caller left out, and drops the tool calls of earlier assistant messages from `gen_ai.input.messages`.
"""

from collections.abc import Mapping, Sequence

from ..calls import Json
from ..spans import LogRecord, Span
from .fields import NEVER_IN_SEMCONV, TOOL_TURNS, TOOLS
from .partial import Loss, PartialCall, Role
from .semconv import role_of

NAME = "openlit"

_DEFAULTS: Mapping[str, tuple[Json, ...]] = {
    "temperature": (1, 1.0),
    "top_p": (1, 1.0),
    "presence_penalty": (0, 0.0),
    "frequency_penalty": (0, 0.0),
    "seed": ("", 0),
    "max_tokens": (-1,),
    "user": ("",),
    "service_tier": ("auto",),
}
_SWITCH = "openlit.init(capture_message_content=True)"


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the corrections for an OpenLIT span; None for other spans."""
    role = role_of(span)
    if role is not Role.CALL or not span.scope.name.startswith("openlit."):
        return None
    invented = {
        name
        for name, values in _DEFAULTS.items()
        if any(span.attributes.get(f"gen_ai.{key}{name}") in values for key in ("request.", "openai.request."))
    }
    is_responses = span.attributes.get("openai.api.type") == "responses"
    return PartialCall(
        role=role,
        retracted=dict.fromkeys(sorted(invented), "OpenLIT writes its default also when nothing was sent"),
        losses=frozenset({Loss.ASSISTANT_CALLS}),
        unrecorded=NEVER_IN_SEMCONV | {TOOLS, TOOL_TURNS, "image"} if is_responses else NEVER_IN_SEMCONV | {"image"},
        content_switch=_SWITCH,
    )
