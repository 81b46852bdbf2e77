"""OpenAI Responses. Source: https://platform.openai.com/docs/api-reference/responses/create."""

from collections.abc import Iterator, Sequence

from ...calls import Json
from ...dialects.dialogue import Call, Media, Message, Opaque, Part, Reasoning, Result, Text, ToolDefinition
from .content import argument_text, data_uri, plain_text, result_text


def encode_messages(system: Sequence[Message], messages: Sequence[Message]) -> dict[str, Json]:
    """Returns `input`, and `instructions` where they were kept apart from the messages as one text."""
    instructions = plain_text([p for m in system for p in m.parts])
    before = [] if instructions is not None else system
    items = [item for m in (*before, *messages) for item in _items(m)]
    return {"input": items, **({"instructions": instructions} if instructions else {})}


def _items(message: Message) -> Iterator[Json]:
    group: list[Part] = []
    for part in message.parts:
        item = _item(part)
        if item is None:
            group.append(part)
            continue
        if group:
            yield _turn(message, group)
            group = []
        yield item
    if group or not message.parts:
        yield _turn(message, group)


def _item(part: Part) -> Json:
    match part:
        case Call():
            arguments = argument_text(part.arguments)
            return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
        case Result():
            return {"type": "function_call_output", "call_id": part.call_id, "output": _output(part)}
        case Reasoning():
            return _reasoning(part)
        case Opaque() if str(part.native.get("type", "")).endswith(("_call", "_call_output", "item_reference")):
            return dict(part.native)
    return None


def _reasoning(part: Reasoning) -> Json:
    item: dict[str, Json] = {"type": "reasoning", "summary": []}
    if part.id:
        item["id"] = part.id
    if part.text:
        item["summary"] = [{"type": "summary_text", "text": part.text}]
    if part.signature:
        item["encrypted_content"] = part.signature
    return item


def _output(result: Result) -> Json:
    if isinstance(result.content, tuple) and plain_text(result.content) is None:
        return [_part(p, "input_text") for p in result.content]
    return result_text(result)


def _turn(message: Message, parts: Sequence[Part]) -> Json:
    role = "assistant" if message.role == "model" else message.role
    text = plain_text(parts)
    if text is not None and message.is_plain is not False:
        return {"role": role, "content": text}
    kind = "output_text" if role == "assistant" else "input_text"
    return {"role": role, "content": [_part(p, kind) for p in parts]}


def _part(part: Part, text_type: str) -> Json:
    match part:
        case Text():
            return {"type": text_type, "text": part.text}
        case Media(kind="image"):
            detail = {"detail": part.detail} if part.detail else {}
            source = {"file_id": part.file_id} if part.file_id else {"image_url": data_uri(part)}
            return {"type": "input_image", **source, **detail}
        case Media():
            return {
                "type": "input_file",
                **({"file_id": part.file_id} if part.file_id else {"file_data": data_uri(part)}),
            }
        case Opaque():
            return dict(part.native)
        case _:
            return {"type": text_type, "text": ""}


def encode_tools(tools: Sequence[ToolDefinition]) -> dict[str, Json]:
    """Returns the `tools` of the body."""
    return {"tools": [_tool(t) for t in tools]}


def _tool(tool: ToolDefinition) -> Json:
    native = tool.native or {}
    if native.get("type") not in (None, "function") or not tool.name:
        return dict(native)
    fields = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **{k: v for k, v in fields.items() if v is not None}, **tool.marks}
