"""OpenLLMetry's earlier convention: messages and tools in numbered keys, still used by several instrumentations.

Source: traceloop/openllmetry, `opentelemetry-semantic-conventions-ai`. Later versions use the GenAI conventions.
"""

from collections.abc import Mapping, Sequence

from ..calls import Api, Json, ModelReply
from ..spans import Attributes, LogRecord, Span
from .answers import reply_of
from .dialogue import Message, Result, ToolDefinition
from .fields import NEVER_IN_SEMCONV, SETTINGS
from .limits import dropped_attributes
from .partial import Found, PartialCall, Role, Trust
from .shapes import read_calls, read_parts, read_result_content, read_tools
from .values import as_text, first_text, numbering_gaps, parse_list, unflatten

NAME = "openllmetry"

_PROMPT = "gen_ai.prompt."
_COMPLETION = "gen_ai.completion."
_FUNCTIONS = "llm.request.functions."
_SESSION = "traceloop.association.properties.session_id"
_SWITCH = "TRACELOOP_TRACE_CONTENT=true"
_KINDS = {"workflow": Role.AGENT, "agent": Role.AGENT, "task": Role.AGENT, "tool": Role.TOOL}


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what the numbered keys say; None for spans without them."""
    attributes = span.attributes
    kind = _KINDS.get(first_text(attributes, "traceloop.span.kind"))
    session = as_text(attributes.get(_SESSION))
    found_session = Found(session, f"{NAME}:{_SESSION}", Trust.RAW) if session else None
    if kind is not None:
        return PartialCall(role=kind, session_id=found_session)
    has_numbered = any(key.startswith((_PROMPT, _COMPLETION, _FUNCTIONS)) for key in attributes)
    if not has_numbered and first_text(attributes, "llm.request.type") != "chat":
        return None
    return PartialCall(
        api=_api(span),
        messages=_messages(attributes, span.dropped_attributes_count),
        tools=_tools(attributes),
        params=_stream(attributes),
        replies=_replies(attributes),
        session_id=found_session,
        unrecorded=NEVER_IN_SEMCONV | SETTINGS,
        content_switch=_SWITCH,
    )


def _api(span: Span) -> Found[Api] | None:
    return Found(Api.OPENAI_RESPONSES, f"{NAME}:span name", Trust.FLATTENED) if span.name == "openai.response" else None


def _messages(attributes: Attributes, dropped: int) -> Found[tuple[Message, ...]] | None:
    tree = unflatten(attributes, _PROMPT)
    items = [item for item in tree if isinstance(item, Mapping)] if isinstance(tree, list) else []
    messages = tuple(_message(item) for item in items if item.get("role"))
    if not messages:
        return None
    is_damaged = len(messages) < len(items) or numbering_gaps(attributes, _PROMPT)
    gaps = (dropped_attributes(dropped),) if dropped and is_damaged else ()
    return Found(messages, f"{NAME}:gen_ai.prompt", Trust.FLATTENED, gaps)


def _message(item: Mapping[str, Json]) -> Message:
    role = as_text(item.get("role"))
    content = _content(item.get("content"))
    if role == "tool":
        answer = item.get("content")
        result = Result(
            content=read_result_content(answer if isinstance(answer, str) else content),
            call_id=as_text(item.get("tool_call_id")),
            name=as_text(item.get("name")),
        )
        return Message(role=role, parts=(result,))
    call = item.get("function_call")
    calls = read_calls([call] if isinstance(call, Mapping) else item.get("tool_calls"))
    is_plain = isinstance(content, str) or content is None
    return Message(role=role, parts=(*read_parts(content), *calls), is_plain=is_plain)


def _content(raw: Json) -> Json:
    """Returns the content, opened when it is a list of parts kept as JSON."""
    parts = parse_list(raw) if isinstance(raw, str) and raw.startswith("[{") else None
    is_parts = parts is not None and all(isinstance(p, Mapping) and isinstance(p.get("type"), str) for p in parts)
    return parts if is_parts else raw


def _tools(attributes: Attributes) -> Found[tuple[ToolDefinition, ...]] | None:
    tree = unflatten(attributes, _FUNCTIONS)
    tools = read_tools(tree) if isinstance(tree, list) else ()
    return Found(tools, f"{NAME}:llm.request.functions", Trust.FLATTENED) if tools else None


def _stream(attributes: Attributes) -> dict[str, Found[Json]]:
    for key in ("llm.is_streaming", "gen_ai.is_streaming"):
        if isinstance(attributes.get(key), bool):
            return {"stream": Found(attributes[key], f"{NAME}:{key}", Trust.FLATTENED)}
    return {}


def _replies(attributes: Attributes) -> Found[tuple[ModelReply, ...]] | None:
    tree = unflatten(attributes, _COMPLETION)
    items = [item for item in tree if isinstance(item, Mapping)] if isinstance(tree, list) else []
    replies = tuple(reply_of(_message(i), finish_reason=as_text(i.get("finish_reason"))) for i in items)
    return Found(replies, f"{NAME}:gen_ai.completion", Trust.FLATTENED) if replies else None
