"""Pydantic AI: the tools of a request in `model_request_parameters`, which every version has.

Source: pydantic-ai, `models/instrumented.py` and `models/__init__.py` (`ModelRequestParameters`). Messages follow the
GenAI conventions, as events in an attribute up to version 0.8 and structured after it.
"""

from collections.abc import Iterator, Mapping, Sequence

from ..calls import Json
from ..spans import LogRecord, Span
from .dialogue import ToolDefinition
from .fields import NEVER_IN_SEMCONV
from .partial import Found, PartialCall, Role, Trust
from .values import as_text, parse_object

NAME = "pydantic_ai"

_PARAMETERS = "model_request_parameters"
_AGENT_SPANS = ("agent run", "invoke_agent")
_SWITCH = "InstrumentationSettings(include_content=True)"


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the tools of a model call, and what agent and tool spans are; None for other spans."""
    if span.name.startswith(_AGENT_SPANS) and span.scope.name == "pydantic-ai":
        return PartialCall(role=Role.AGENT)
    parameters = parse_object(span.attributes.get(_PARAMETERS))
    if parameters is None:
        return None
    tools = tuple(_tools(parameters))
    return PartialCall(
        tools=Found(tools, f"{NAME}:{_PARAMETERS}", Trust.RAW) if tools else None,
        unrecorded=NEVER_IN_SEMCONV,
        content_switch=_SWITCH,
    )


def _tools(parameters: Mapping[str, Json]) -> Iterator[ToolDefinition]:
    for key in ("function_tools", "output_tools"):
        for raw in parameters.get(key) or ():
            if not isinstance(raw, Mapping) or raw.get("defer_loading") is True:
                continue
            description = raw.get("description")
            strict = raw.get("strict")
            yield ToolDefinition(
                name=as_text(raw.get("name")),
                description=description if isinstance(description, str) else None,
                parameters=raw.get("parameters_json_schema"),
                marks={"strict": strict} if isinstance(strict, bool) else {},
            )
