"""OpenInference: the raw request in `input.value`, and the same again flattened into numbered keys.

Source: https://arize-ai.github.io/openinference/spec/semantic_conventions.html. The raw form differs between the
instrumentations: provider kwargs (openai, anthropic, google-genai, litellm), a bare message list (bedrock), LangChain's
constructor dump. `llm.model_name` is the model that answered, so it is never taken for the one asked for when the
parameters name another.
"""

from collections.abc import Iterator, Mapping, Sequence

from ..calls import Body, Json, MissingField, ModelReply, Usage
from ..spans import Attributes, LogRecord, Span
from .answers import read_response, reply_of
from .dialogue import Call, Media, Message, Part, Result, Text, ToolDefinition
from .partial import Found, PartialCall, Role, Trust
from .placeholders import without_placeholders
from .shapes import read_result_content, read_tools
from .values import (
    as_float,
    as_int,
    as_text,
    first,
    first_text,
    numbering_gaps,
    parse_json,
    parse_object,
    unflatten,
)

NAME = "openinference"
REDACTED = "__REDACTED__"

_ROLES = {"LLM": Role.CALL, "AGENT": Role.AGENT, "CHAIN": Role.AGENT, "TOOL": Role.TOOL}
_CLIENT_KEYS = frozenset(
    {
        "_type", "model_name", "api_base", "api_key", "base_url", "extra_headers", "extra_query", "headers", "timeout",
        "max_retries", "num_retries", "retry_strategy", "cache", "caching", "api_version", "http_options",
    }
)  # fmt: skip
"""Arguments of a client library that are not part of the request."""


_REDACTED_IMAGE = MissingField(
    name="image",
    reason="replaced by __REDACTED__, being longer than the instrumentation's limit",
    remedy="OPENINFERENCE_BASE64_IMAGE_MAX_LENGTH=10000000",
)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what an OpenInference span says; None for spans without a kind and for kinds that concern no call."""
    attributes = span.attributes
    kind = first_text(attributes, "openinference.span.kind").upper()
    role = _ROLES.get(kind)
    if role is None:
        return None
    if role is not Role.CALL:
        return PartialCall(
            role=role, session_id=_found(attributes, "session.id"), agent=_found(attributes, "agent.name")
        )
    parameters = parse_object(attributes.get("llm.invocation_parameters")) or {}
    body = _body(attributes)
    return PartialCall(
        body=body,
        messages=_messages(attributes, span.dropped_attributes_count),
        tools=_tools(attributes),
        params=dict(_params(parameters)),
        model=_model(attributes, parameters, body),
        provider=_found(attributes, "llm.provider", "llm.system"),
        base_url=_base_url(parameters),
        replies=_replies(attributes),
        usage=_usage(attributes),
        response_id=_response_id(attributes),
        session_id=_found(attributes, "session.id"),
        agent=_found(attributes, "agent.name"),
    )


def _found(attributes: Attributes, *keys: str) -> Found[str] | None:
    for key in keys:
        value = as_text(attributes.get(key))
        if value:
            return Found(value, f"{NAME}:{key}", Trust.FLATTENED)
    return None


def _body(attributes: Attributes) -> Found[Body] | None:
    body = parse_object(attributes.get("input.value"))
    if body is None or not is_request(body):
        return None
    kept, redacted = without_placeholders({k: v for k, v in body.items() if k not in _CLIENT_KEYS}, REDACTED.__eq__)
    return Found(kept, f"{NAME}:input.value", Trust.RAW, (_REDACTED_IMAGE,) if redacted else ())


def is_request(body: Body) -> bool:
    """Tells whether an object is a provider's request: messages with roles, input items, or contents."""
    messages = body.get("messages")
    if isinstance(messages, list):
        return bool(messages) and all(isinstance(m, Mapping) and "role" in m for m in messages)
    if isinstance(body.get("contents"), list | str):
        return True
    return isinstance(body.get("input"), list | str) and "model" in body


def _messages(attributes: Attributes, dropped: int) -> Found[tuple[Message, ...]] | None:
    prefix = "llm.input_messages."
    tree = unflatten(attributes, prefix)
    items = tree if isinstance(tree, list) else []
    messages = tuple(_message(item) for item in items if _has_role(item))
    if not messages:
        return None
    is_damaged = len(messages) < len(items) or numbering_gaps(attributes, prefix)
    gaps = (dropped_attributes(dropped),) if dropped and is_damaged else ()
    return Found(messages, f"{NAME}:llm.input_messages", Trust.FLATTENED, gaps)


def dropped_attributes(count: int) -> MissingField:
    """Returns the gap of a span that had more attributes than its SDK keeps."""
    return MissingField(
        name="messages (text, tool call args, call ids, result ids, tools, params)",
        reason=f"attribute count limit: {count} dropped",
        remedy="OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000",
    )


def _has_role(item: Json) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("message"), Mapping) and "role" in item["message"]


def _message(item: Mapping[str, Json]) -> Message:
    raw = item["message"]
    role = as_text(raw.get("role"))
    call_id = as_text(raw.get("tool_call_id"))
    content = raw.get("content")
    if role == "tool" or call_id:
        parts = tuple(_parts(raw.get("contents")))
        text: str | tuple[Part, ...] = parts if parts else as_text(content)
        result = Result(
            content=text if parts else _result_content(content), call_id=call_id, name=as_text(raw.get("name"))
        )
        return Message(role="tool", parts=(result,))
    parts = tuple(_parts(raw.get("contents")))
    texts = (Text(text=content),) if isinstance(content, str) and not parts else ()
    calls = tuple(_calls(raw.get("tool_calls")))
    return Message(
        role=role,
        parts=(*texts, *parts, *calls),
        name=as_text(raw.get("name")),
        is_plain=not parts,
    )


def _result_content(content: Json) -> str:
    kept = read_result_content(content)
    return kept if isinstance(kept, str) else ""


def _parts(raw: Json) -> Iterator[Part]:
    for item in raw if isinstance(raw, list) else ():
        content = item.get("message_content") if isinstance(item, Mapping) else None
        if not isinstance(content, Mapping):
            continue
        image = content.get("image")
        inner = image.get("image") if isinstance(image, Mapping) else None
        if isinstance(inner, Mapping) and isinstance(inner.get("url"), str):
            if inner["url"] != REDACTED:
                yield Media(kind="image", url=inner["url"])
        elif isinstance(content.get("text"), str):
            yield Text(text=content["text"])


def _calls(raw: Json) -> Iterator[Call]:
    for item in raw if isinstance(raw, list) else ():
        call = item.get("tool_call") if isinstance(item, Mapping) else None
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(call, Mapping) and isinstance(function, Mapping):
            yield Call(
                name=as_text(function.get("name")), arguments=function.get("arguments"), id=as_text(call.get("id"))
            )


def _tools(attributes: Attributes) -> Found[tuple[ToolDefinition, ...]] | None:
    tree = unflatten(attributes, "llm.tools.")
    raw = [_schema(item) for item in tree] if isinstance(tree, list) else []
    tools = read_tools(item for item in raw if item is not None)
    return Found(tools, f"{NAME}:llm.tools", Trust.FLATTENED) if tools else None


def _schema(item: Json) -> Json:
    tool = item.get("tool") if isinstance(item, Mapping) else None
    return parse_json(tool.get("json_schema")) if isinstance(tool, Mapping) else None


def _params(parameters: Mapping[str, Json]) -> Iterator[tuple[str, Found[Json]]]:
    for name, value in parameters.items():
        if name not in _CLIENT_KEYS and name not in ("model", "tools", "messages"):
            yield name, Found(value, f"{NAME}:llm.invocation_parameters", Trust.FLATTENED)


def _model(attributes: Attributes, parameters: Mapping[str, Json], body: Found[Body] | None) -> Found[str] | None:
    if body is not None and isinstance(body.value.get("model"), str):
        return Found(body.value["model"], f"{NAME}:input.value", Trust.RAW)
    asked = as_text(parameters.get("model") or parameters.get("model_name"))
    if not asked:
        return None
    # LiteLLM takes `provider/model` and sends `model`.
    prefix, _, rest = asked.partition("/")
    is_routed = bool(rest) and prefix == attributes.get("llm.provider")
    return Found(rest if is_routed else asked, f"{NAME}:llm.invocation_parameters", Trust.FLATTENED)


def _base_url(parameters: Mapping[str, Json]) -> Found[str] | None:
    url = as_text(first(parameters, "base_url", "api_base"))
    return Found(url, f"{NAME}:llm.invocation_parameters", Trust.FLATTENED) if url else None


def _replies(attributes: Attributes) -> Found[tuple[ModelReply, ...]] | None:
    output = parse_object(attributes.get("output.value"))
    replies = read_response(output) if output is not None else ()
    if replies:
        return Found(replies, f"{NAME}:output.value", Trust.RAW)
    tree = unflatten(attributes, "llm.output_messages.")
    finish = first_text(attributes, "llm.finish_reason")
    items = [item for item in tree if _has_role(item)] if isinstance(tree, list) else []
    read = tuple(reply_of(_message(item), finish_reason=finish) for item in items)
    return Found(read, f"{NAME}:llm.output_messages", Trust.FLATTENED) if read else None


def _response_id(attributes: Attributes) -> Found[str] | None:
    output = parse_object(attributes.get("output.value")) or {}
    value = as_text(output.get("id"))
    return Found(value, f"{NAME}:output.value", Trust.RAW) if value else None


def _usage(attributes: Attributes) -> Found[Usage] | None:
    usage = Usage(
        input_tokens=as_int(attributes.get("llm.token_count.prompt")),
        output_tokens=as_int(attributes.get("llm.token_count.completion")),
        cached_input_tokens=as_int(attributes.get("llm.token_count.prompt_details.cache_read")),
        reasoning_tokens=as_int(attributes.get("llm.token_count.completion_details.reasoning")),
        cost_usd=as_float(attributes.get("llm.cost.total")),
    )
    return Found(usage, f"{NAME}:llm.token_count", Trust.FLATTENED) if usage != Usage() else None
