"""Reading messages, parts and tools in whichever shape they were recorded.

Instrumentations mix shapes freely (a semantic-convention attribute may hold provider messages, an event body may hold
Bedrock blocks), so a part is recognised by its own keys and not by the attribute it came from.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..calls import Json
from .dialogue import (
    Call,
    Media,
    MediaKind,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Structured,
    Text,
    ToolDefinition,
)
from .values import as_text, parse_json

Object = Mapping[str, Json]

_MARKS = ("cache_control", "cachePoint", "citations", "thought_signature", "thoughtSignature")
_TOOL_MARKS = ("strict", "cache_control", "defer_loading")


def read_messages(raw: Sequence[Json]) -> tuple[Message, ...]:
    """Returns the messages of a list; elements that are not objects are skipped."""
    return tuple(message for item in raw if isinstance(item, Mapping) for message in read_item(item))


def read_item(item: Object) -> tuple[Message, ...]:
    """Returns the message of one element: a message, or an item of the Responses API."""
    kind = item.get("type")
    if kind == "function_call":
        call = Call(
            name=as_text(item.get("name")),
            arguments=item.get("arguments"),
            id=as_text(item.get("call_id") or item.get("id")),
        )
        return (Message(role="assistant", parts=(call,)),)
    if kind == "function_call_output":
        result = Result(content=read_result_content(item.get("output")), call_id=as_text(item.get("call_id")))
        return (Message(role="tool", parts=(result,)),)
    if "role" not in item and kind not in (None, "message"):
        return (Message(role="assistant", parts=(read_part(item),)),)
    return (read_message(item),)


def read_message(raw: Object) -> Message:
    """Returns one message: OpenAI, Anthropic, Gemini, Bedrock, Ollama or semantic-convention shape."""
    role = as_text(raw.get("role"))
    content = raw.get("parts") if raw.get("parts") is not None else raw.get("content")
    if isinstance(content, Mapping):
        content = [content]
    reasoning = as_text(raw.get("reasoning_content") or raw.get("thinking"))
    parts = [Reasoning(text=reasoning)] if reasoning else []
    call_id = as_text(raw.get("tool_call_id") or raw.get("toolCallId") or raw.get("call_id"))
    if role == "tool" and not _holds_results(content):
        name = as_text(raw.get("name") or raw.get("tool_name"))
        call_id = call_id or as_text(raw.get("id"))
        answer = "" if content is None and "content" in raw else read_result_content(content)
        # OpenAI's form may name the tool in the message; it is sent as it was recorded.
        result = Result(content=answer, call_id=call_id, name=name)
        return Message(role=role, parts=(result,), name=as_text(raw.get("name")))
    read = [*parts, *read_parts(content), *read_calls(raw.get("tool_calls"))]
    is_plain = None if "parts" in raw else isinstance(content, str) or content is None
    return Message(role=role, parts=tuple(read), name=as_text(raw.get("name")), is_plain=is_plain)


def _holds_results(content: Json) -> bool:
    parts = [read_part(p) for p in content if isinstance(p, Mapping)] if isinstance(content, list | tuple) else []
    return any(isinstance(p, Result) for p in parts)


def read_calls(raw: Json) -> tuple[Call, ...]:
    """Returns the tool calls beside a message's content: `{id, function: {name, arguments}}` or flat."""
    calls = []
    for item in raw if isinstance(raw, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        inner = item.get("function")
        function = inner if isinstance(inner, Mapping) else item
        arguments = next((function[k] for k in ("arguments", "args", "input") if k in function), None)
        calls.append(Call(name=as_text(function.get("name")), arguments=arguments, id=as_text(item.get("id"))))
    return tuple(calls)


def read_parts(content: Json) -> tuple[Part, ...]:
    """Returns the parts of a content that is a string, a list of strings and objects, or nothing."""
    if isinstance(content, str):
        return (Text(text=content),)
    if not isinstance(content, list | tuple):
        return ()
    return tuple(
        Text(text=item) if isinstance(item, str) else read_part(item)
        for item in content
        if isinstance(item, str | Mapping)
    )


def read_part(raw: Object) -> Part:
    """Returns one part, recognised by its keys; one of an unknown kind is kept as it is."""
    kind = raw.get("type")
    reader = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    if reader is None:
        reader = next((read for key, read in _BY_KEY.items() if raw.get(key) is not None), None)
    part = reader(raw) if reader else None
    return part if part is not None else Opaque(native=dict(raw))


def _marks(raw: Object) -> dict[str, Json]:
    return {k: raw[k] for k in _MARKS if raw.get(k) is not None}


def _text(raw: Object) -> Part | None:
    text = next((raw[k] for k in ("text", "content") if isinstance(raw.get(k), str)), None)
    if text is None:
        return None
    if raw.get("thought") is True:
        return Reasoning(text=text, signature=as_text(raw.get("thoughtSignature")))
    return Text(text=text, marks=_marks(raw))


def _call(raw: Object) -> Part | None:
    native = next(
        (raw[k] for k in ("functionCall", "function_call", "toolUse") if isinstance(raw.get(k), Mapping)), raw
    )
    name = as_text(native.get("name") or native.get("toolName") or native.get("tool_name"))
    arguments = next((native[k] for k in ("arguments", "args", "input") if k in native), None)
    call_id = as_text(first_of(native, "id", "call_id", "toolUseId", "toolCallId", "tool_call_id"))
    return Call(name=name, arguments=arguments, id=call_id, marks=_marks(raw)) if name or call_id else None


def first_of(raw: Object, *keys: str) -> Json:
    """Returns the first value that is neither absent nor None nor empty."""
    return next((raw[k] for k in keys if raw.get(k) not in (None, "")), None)


def _result(raw: Object) -> Part | None:
    native = next(
        (raw[k] for k in ("functionResponse", "function_response", "toolResult") if isinstance(raw.get(k), Mapping)),
        raw,
    )
    content = next((native[k] for k in ("response", "result", "output", "content") if k in native), None)
    error = native.get("is_error", native.get("isError"))
    status = native.get("status")
    return Result(
        content=read_result_content(content),
        call_id=as_text(first_of(native, "id", "tool_use_id", "toolUseId", "toolCallId", "tool_call_id", "call_id")),
        name=as_text(first_of(native, "name", "toolName", "tool_name")),
        is_error=error if isinstance(error, bool) else None,
        marks={**_marks(raw), **({"status": status} if isinstance(status, str) else {})},
    )


def read_result_content(content: Json) -> str | tuple[Part, ...] | Structured | None:
    """Returns a tool's answer: its text, its parts where all of them are of a known kind, else the value itself."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Mapping) and content.get("type") in ("text", "json", "error-text", "error-json", "content"):
        return read_result_content(content.get("value", content.get("text")))
    if isinstance(content, list | tuple) and content and all(isinstance(p, Mapping) for p in content):
        parts = read_parts(content)
        if not any(isinstance(p, Opaque | Call | Result) for p in parts):
            return parts
    return Structured(value=content)


def _media(raw: Object) -> Part | None:
    kind: MediaKind = _media_kind(raw)
    detail = as_text(raw.get("detail"))
    inner = first_of(
        raw, "image_url", "image", "source", "input_audio", "inlineData", "inline_data", "fileData", "file"
    )
    if isinstance(inner, Mapping) and isinstance(inner.get("source"), Mapping):
        inner = inner["source"]
    holder: Object = inner if isinstance(inner, Mapping) else raw
    mime = as_text(first_of(holder, "mime_type", "media_type", "mimeType", "mediaType", "mime"))
    url = inner if isinstance(inner, str) and _is_url(inner) else as_text(first_of(holder, "url", "uri", "fileUri"))
    data = "" if url else as_text(first_of(holder, "data", "bytes", "content", "image", "base64", "file_data"))
    if _is_url(data):
        url, data = data, ""
    file_id = as_text(first_of(holder, "file_id"))
    if not (url or data or file_id):
        return None
    return Media(
        kind=kind,
        mime=mime,
        data=data,
        url=url,
        file_id=file_id,
        detail=detail or as_text(holder.get("detail")),
        marks=_marks(raw),
    )


def _is_url(text: str) -> bool:
    return text.startswith(("data:", "http://", "https://", "gs://", "s3://"))


def _media_kind(raw: Object) -> MediaKind:
    hints = " ".join(as_text(raw.get(k)) for k in ("type", "modality", "mime_type", "mediaType")) + " ".join(raw)
    for kind in ("image", "audio", "video"):
        if kind in hints:
            return kind
    return "image" if "inline" in hints.lower() else "file"


def _reasoning(raw: Object) -> Part | None:
    native = raw.get("reasoningContent")
    inner = native.get("reasoningText") if isinstance(native, Mapping) else raw
    if not isinstance(inner, Mapping):
        return None
    text = as_text(first_of(inner, "text", "content", "thinking", "reasoning"))
    signature = as_text(first_of(inner, "signature", "encrypted_content"))
    return Reasoning(text=text, signature=signature, id=as_text(raw.get("id")))


_BY_TYPE: Mapping[str, Callable[[Object], Part | None]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _text),
    **dict.fromkeys(("tool_call", "tool_use", "tool-call", "function_call"), _call),
    **dict.fromkeys(("tool_call_response", "tool_result", "tool-result", "function_call_output"), _result),
    **dict.fromkeys(("image", "image_url", "input_image", "blob", "uri", "input_audio", "media"), _media),
    **dict.fromkeys(("file", "document", "input_file"), _media),
    **dict.fromkeys(("reasoning", "thinking"), _reasoning),
}
_BY_KEY: Mapping[str, Callable[[Object], Part | None]] = {
    "functionCall": _call,
    "function_call": _call,
    "toolUse": _call,
    "functionResponse": _result,
    "function_response": _result,
    "toolResult": _result,
    "reasoningContent": _reasoning,
    "inlineData": _media,
    "inline_data": _media,
    "fileData": _media,
    "image": _media,
    "image_url": _media,
    "text": _text,
}


def read_tools(raw: Iterable[Json]) -> tuple[ToolDefinition, ...]:
    """Returns the tools of a list; a Gemini tool object holds several."""
    found: list[ToolDefinition] = []
    for entry in raw:
        item = parse_json(entry)
        if not isinstance(item, Mapping):
            continue
        declarations = first_of(item, "functionDeclarations", "function_declarations")
        inner = [d for d in declarations if isinstance(d, Mapping)] if isinstance(declarations, list) else [item]
        found += (read_tool(d) for d in inner)
    return tuple(found)


def read_tool(raw: Object) -> ToolDefinition:
    """Returns one tool: OpenAI (both), Anthropic, Bedrock, Gemini or semantic-convention shape."""
    inner = next((raw[k] for k in ("function", "toolSpec") if isinstance(raw.get(k), Mapping)), raw)
    schema = first_of(
        inner, "parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"
    )
    schema = parse_json(schema) if isinstance(schema, str) else schema
    if isinstance(schema, Mapping) and set(schema) in ({"json"}, {"jsonSchema"}):
        schema = next(iter(schema.values()))
    description = inner.get("description")
    marks = {k: source[k] for source in (raw, inner) for k in _TOOL_MARKS if source.get(k) is not None}
    return ToolDefinition(
        name=as_text(inner.get("name")),
        description=description if isinstance(description, str) else None,
        parameters=schema,
        marks=marks,
        native=dict(raw),
    )
