"""OpenAI chat completions. Source: https://platform.openai.com/docs/api-reference/chat/create."""

from collections.abc import Iterator, Sequence

from ...calls import Json
from ...dialects.dialogue import Call, Media, Message, Opaque, Part, Reasoning, Result, Text, ToolDefinition
from .content import argument_text, data_uri, plain_text, result_text, system_and_rest

_ROLES = {"model": "assistant", "ai": "assistant", "human": "user"}


def encode_messages(system: Sequence[Message], messages: Sequence[Message]) -> dict[str, Json]:
    """Returns the `messages` of the body; instructions kept apart come after the system messages there are."""
    lead, rest = system_and_rest(system, messages)
    return {"messages": [m for message in (*lead, *rest) for m in _encode(message)]}


def _encode(message: Message) -> Iterator[dict[str, Json]]:
    rest = [p for p in message.parts if not isinstance(p, Result)]
    for result in (p for p in message.parts if isinstance(p, Result)):
        identity = {"tool_call_id": result.call_id} if result.call_id else {}
        named = {"name": message.name} if message.name else {}
        yield {"role": "tool", **identity, **named, "content": _result_content(result)}
    if rest or len(rest) == len(message.parts):
        yield _turn(message, rest)


def _result_content(result: Result) -> Json:
    if result.content is None:
        return None
    if isinstance(result.content, tuple) and plain_text(result.content) is None:
        return [_part(p) for p in result.content]
    return result_text(result)


def _turn(message: Message, parts: Sequence[Part]) -> dict[str, Json]:
    calls = [p for p in parts if isinstance(p, Call)]
    content = [p for p in parts if not isinstance(p, Call | Reasoning)]
    turn: dict[str, Json] = {"role": _ROLES.get(message.role, message.role), "content": _content(message, content)}
    if calls and not content:
        turn["content"] = None
    if message.name:
        turn["name"] = message.name
    if calls:
        turn["tool_calls"] = [_call(c) for c in calls]
    thoughts = "".join(p.text for p in parts if isinstance(p, Reasoning))
    if thoughts:
        turn["reasoning_content"] = thoughts
    return turn


def _call(call: Call) -> Json:
    identity = {"id": call.id} if call.id else {}
    return {**identity, "type": "function", "function": {"name": call.name, "arguments": argument_text(call.arguments)}}


def _content(message: Message, parts: Sequence[Part]) -> Json:
    text = plain_text(parts)
    if text is not None and message.is_plain is not False:
        return text
    return [_part(p) for p in parts]


def _part(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text, **part.marks}
        case Media(kind="image"):
            detail = {"detail": part.detail} if part.detail else {}
            return {"type": "image_url", "image_url": {"url": data_uri(part), **detail}, **part.marks}
        case Media(kind="audio"):
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.mime.partition("/")[2]}}
        case Media():
            return {
                "type": "file",
                "file": {"file_id": part.file_id} if part.file_id else {"file_data": data_uri(part)},
            }
        case Opaque():
            return dict(part.native)
        case _:
            return {"type": "text", "text": ""}


def encode_tools(tools: Sequence[ToolDefinition]) -> dict[str, Json]:
    """Returns the `tools` of the body."""
    return {"tools": [_tool(t) for t in tools]}


def _tool(tool: ToolDefinition) -> Json:
    native = tool.native or {}
    if "function" in native or (native and not tool.name):
        return dict(native)
    function: dict[str, Json] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    # Not strict is this API's default, which no library writes; the Responses API's default is strict.
    marks = {k: v for k, v in tool.marks.items() if (k, v) != ("strict", False)}
    return {"type": "function", "function": {**function, **marks}}
