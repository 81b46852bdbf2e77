"""Google ADK: the request and response of a model call in `gcp.vertex.agent.llm_request` and `…llm_response`.

Source: google-adk, `telemetry/tracing.py`. Newer versions write the GenAI conventions on `generate_content` spans; the
older `call_llm` spans have the SDK's own request, with `{}` in its place when content is elided.
"""

from collections.abc import Sequence

from ..calls import Api
from ..spans import LogRecord, Span
from .answers import read_response, read_usage
from .fields import NEVER_IN_SEMCONV, SETTINGS
from .gemini_sdk import to_wire
from .partial import Found, PartialCall, Role, Trust
from .requests import is_request
from .values import as_text, first_text, parse_object

NAME = "adk"

_REQUEST = "gcp.vertex.agent.llm_request"
_RESPONSE = "gcp.vertex.agent.llm_response"
_SWITCH = (
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true "
    "(older versions: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)"
)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what an ADK span says beyond the conventions; None for spans of other scopes."""
    attributes = span.attributes
    if not span.scope.name.startswith("gcp.vertex.agent"):
        return None
    session = first_text(attributes, "gcp.vertex.agent.session_id", "gen_ai.conversation.id")
    found_session = Found(session, f"{NAME}:gcp.vertex.agent.session_id", Trust.RAW) if session else None
    if span.name.startswith(("invoke_agent", "agent_run", "invocation", "invoke_workflow")):
        return PartialCall(role=Role.AGENT, session_id=found_session)
    request = parse_object(attributes.get(_REQUEST)) or {}
    if span.name != "call_llm" and not span.name.startswith("generate_content"):
        return None
    response = parse_object(attributes.get(_RESPONSE)) or {}
    replies = read_response({"candidates": [response]}) if response.get("content") else ()
    usage = read_usage(response.get("usage_metadata") or {})
    model = as_text(request.get("model"))
    body = to_wire(request) if is_request(request) else None
    return PartialCall(
        api=Found(Api.GEMINI_GENERATE, f"{NAME}:scope", Trust.STRUCTURED),
        body=Found(body, f"{NAME}:{_REQUEST}", Trust.RAW) if body else None,
        model=Found(model, f"{NAME}:{_REQUEST}", Trust.RAW) if model else None,
        replies=Found(replies, f"{NAME}:{_RESPONSE}", Trust.RAW) if replies else None,
        usage=Found(usage, f"{NAME}:{_RESPONSE}", Trust.RAW) if usage else None,
        session_id=found_session,
        unrecorded=NEVER_IN_SEMCONV | SETTINGS,
        content_switch=_SWITCH,
    )
