"""Anthropic messages. Source: https://docs.anthropic.com/en/api/messages."""

from collections.abc import Sequence

from ...calls import Json
from ...dialects.dialogue import (
    Call,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Structured,
    Text,
    ToolDefinition,
)
from .content import argument_value, plain_text, result_text, split_data_uri, system_and_rest


def encode_messages(system: Sequence[Message], messages: Sequence[Message]) -> dict[str, Json]:
    """Returns `messages` and `system`; neighbouring tool results share one user turn, as the API demands."""
    lead, rest = system_and_rest(system, messages)
    parts = [p for m in lead for p in m.parts]
    text = plain_text(parts)
    body: dict[str, Json] = {"messages": _turns(rest)}
    if parts:
        body["system"] = text if text is not None and lead[0].is_plain is not False else [_part(p) for p in parts]
    return body


def _turns(messages: Sequence[Message]) -> list[Json]:
    turns: list[tuple[Message, list[Part]]] = []
    for message in messages:
        if message.role == "tool" and turns and turns[-1][0].role == "tool":
            turns[-1][1].extend(message.parts)
        else:
            turns.append((message, list(message.parts)))
    return [{"role": _role(m), "content": _content(m, parts)} for m, parts in turns]


def _role(message: Message) -> str:
    return {"tool": "user", "model": "assistant"}.get(message.role, message.role)


def _content(message: Message, parts: Sequence[Part]) -> Json:
    text = plain_text(parts)
    if text is not None and message.is_plain is not False:
        return text
    return [_part(p) for p in parts]


def _part(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text, **part.marks}
        case Media():
            return {"type": "image" if part.kind == "image" else "document", "source": _source(part), **part.marks}
        case Call():
            arguments = argument_value(part.arguments)
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments, **part.marks}
        case Result():
            return _result(part)
        case Reasoning():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case Opaque():
            return dict(part.native)


def _source(media: Media) -> Json:
    inline = split_data_uri(media)
    if inline is not None:
        return {"type": "base64", "media_type": inline[0], "data": inline[1]}
    return {"type": "file", "file_id": media.file_id} if media.file_id else {"type": "url", "url": media.url}


def _result(result: Result) -> Json:
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = result.content
    if content is None or (isinstance(content, Structured) and content.value is None):
        pass
    elif isinstance(content, tuple):
        block["content"] = [_part(p) for p in content]
    else:
        block["content"] = result_text(result)
    if result.is_error is not None:
        block["is_error"] = result.is_error
    return {**block, **{k: v for k, v in result.marks.items() if k != "status"}}


def encode_tools(tools: Sequence[ToolDefinition]) -> dict[str, Json]:
    """Returns the `tools` of the body."""
    return {"tools": [_tool(t) for t in tools]}


def _tool(tool: ToolDefinition) -> Json:
    native = tool.native or {}
    if "input_schema" in native or tool.parameters is None:
        return {k: v for k, v in native.items() if v is not None} if native else {"name": tool.name}
    described = {"description": tool.description} if tool.description is not None else {}
    return {"name": tool.name, **described, "input_schema": tool.parameters, **tool.marks}
