"""Bedrock Converse. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.

The model is in the URL, not the body.
"""

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
from .content import argument_value, split_data_uri, system_and_rest


def encode_messages(system: Sequence[Message], messages: Sequence[Message]) -> dict[str, Json]:
    """Returns `messages` and `system`; neighbouring tool results share one user turn, as the API demands."""
    lead, rest = system_and_rest(system, messages)
    turns: list[tuple[str, list[Json]]] = []
    for message in rest:
        encoded = [_part(p) for p in message.parts]
        if message.role == "tool" and turns and turns[-1][0] == "tool":
            turns[-1][1].extend(encoded)
        else:
            turns.append((message.role, encoded))
    body: dict[str, Json] = {
        "messages": [{"role": "user" if role == "tool" else role, "content": content} for role, content in turns]
    }
    parts = [_part(p) for m in lead for p in m.parts]
    return {**body, **({"system": parts} if parts else {})}


def _part(part: Part) -> Json:
    match part:
        case Text():
            return {"text": part.text}
        case Call():
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": argument_value(part.arguments)}}
        case Result():
            content = _result_content(part)
            return {"toolResult": {"toolUseId": part.call_id, "content": content, **part.marks}}
        case Media():
            inline = split_data_uri(part)
            source = {"bytes": inline[1]} if inline else {"s3Location": {"uri": part.url}}
            mime = inline[0] if inline else part.mime
            return {part.kind: {"format": mime.partition("/")[2], "source": source}}
        case Reasoning():
            signature = {"signature": part.signature} if part.signature else {}
            return {"reasoningContent": {"reasoningText": {"text": part.text, **signature}}}
        case Opaque():
            return dict(part.native)


def _result_content(result: Result) -> list[Json]:
    content = result.content
    if content is None:
        return []
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, Structured):
        return content.value if isinstance(content.value, list) else [{"json": content.value}]
    return [_part(p) for p in content]


def encode_tools(tools: Sequence[ToolDefinition]) -> dict[str, Json]:
    """Returns the `toolConfig` of the body."""
    return {"toolConfig": {"tools": [_tool(t) for t in tools]}}


def _tool(tool: ToolDefinition) -> Json:
    native = tool.native or {}
    if "toolSpec" in native or not tool.name:
        return dict(native)
    described = {"description": tool.description} if tool.description is not None else {}
    # The API demands a schema; null is the hole, named in `missing`, that `--tools` fills.
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": {"json": tool.parameters}}}
