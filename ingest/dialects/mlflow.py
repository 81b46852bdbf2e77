"""MLflow tracing: the arguments of the call in `mlflow.spanInputs`, every attribute encoded as JSON once more.

Source: https://mlflow.org/docs/latest/genai/tracing/. Images are moved to attachments, and a reference stays.
"""

from collections.abc import Mapping, Sequence

from ..calls import Json, MissingField
from ..spans import LogRecord, Span
from .answers import read_response, read_usage
from .langchain import is_dump, read_dump, read_generations
from .partial import Found, PartialCall, Role, Trust
from .placeholders import without_placeholders
from .requests import is_request, request_fields
from .shapes import read_tools
from .values import as_text, parse_json, parse_list, parse_object

NAME = "mlflow"

_INPUTS = "mlflow.spanInputs"
_SETTINGS = "invocation_params"
"""Written by the LangChain integration, whose inputs are messages only."""
_OUTPUTS = "mlflow.spanOutputs"
_ROLES = {
    **dict.fromkeys(("CHAT_MODEL", "LLM"), Role.CALL),
    **dict.fromkeys(("AGENT", "CHAIN", "WORKFLOW", "TASK"), Role.AGENT),
    "TOOL": Role.TOOL,
}
_ATTACHED = MissingField(
    name="image",
    reason="moved to an MLflow attachment; the span holds a reference only",
    remedy="download the trace's attachments from MLflow, or whyspan.record()",
)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what an MLflow span says; None for other spans."""
    attributes = span.attributes
    role = _ROLES.get(as_text(parse_json(attributes.get("mlflow.spanType"))))
    if role is None:
        return None
    if role is not Role.CALL:
        return PartialCall(role=role)
    inputs, attached = without_placeholders(parse_json(attributes.get(_INPUTS)), _is_reference)
    body: Mapping[str, Json] = inputs if isinstance(inputs, Mapping) else {}
    outputs = parse_object(attributes.get(_OUTPUTS)) or {}
    gaps = (_ATTACHED,) if attached else ()
    dump = body.get("messages", inputs)
    messages = read_dump(dump) if is_dump(dump) else ()
    replies = read_response(outputs) or read_generations(outputs)
    usage = read_usage(parse_object(attributes.get("mlflow.chat.tokenUsage")) or {})
    provider = as_text(parse_json(attributes.get("mlflow.llm.provider") or attributes.get("mlflow.message.format")))
    settings = parse_object(attributes.get(_SETTINGS)) or {}
    tools = read_tools(parse_list(attributes.get("mlflow.chat.tools")) or ()) if messages else ()
    return PartialCall(
        tools=Found(tools, f"{NAME}:mlflow.chat.tools", Trust.STRUCTURED) if tools else None,
        params={
            name: Found(value, f"{NAME}:{_SETTINGS}", Trust.STRUCTURED)
            for name, value in request_fields(settings).items()
            if name not in ("model", "tools", "messages")
        },
        body=Found(request_fields(body), f"{NAME}:{_INPUTS}", Trust.RAW, gaps) if is_request(body) else None,
        messages=Found(messages, f"{NAME}:{_INPUTS}", Trust.STRUCTURED, gaps) if messages else None,
        model=_found(as_text(body.get("model") or settings.get("model")), _INPUTS),
        provider=_found(provider, "mlflow.llm.provider"),
        replies=Found(replies, f"{NAME}:{_OUTPUTS}", Trust.RAW) if replies else None,
        usage=Found(usage, f"{NAME}:mlflow.chat.tokenUsage", Trust.RAW) if usage else None,
        response_id=_found(as_text(outputs.get("id")), _OUTPUTS),
        session_id=_found(as_text(parse_json(attributes.get("mlflow.trace.session"))), "mlflow.trace.session"),
    )


def _found(value: str, key: str) -> Found[str] | None:
    return Found(value, f"{NAME}:{key}", Trust.RAW) if value else None


def _is_reference(text: str) -> bool:
    return text.startswith("mlflow-attachment://")
