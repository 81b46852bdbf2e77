"""Gemini generateContent. Source: https://ai.google.dev/api/generate-content. The model is in the URL, not the body."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

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
from ...dialects.values import parse_json
from .content import argument_value, result_text, split_data_uri, system_and_rest

_ROLES = {"assistant": "model", "tool": "user"}


def encode_messages(system: Sequence[Message], messages: Sequence[Message]) -> dict[str, Json]:
    """Returns `contents` and `systemInstruction`; neighbouring tool results share one turn."""
    lead, rest = system_and_rest(system, messages)
    parts = [_part(p) for m in lead for p in m.parts]
    names = {p.id: p.name for m in rest for p in m.parts if isinstance(p, Call) and p.id}
    turns: list[tuple[str, list[Json]]] = []
    for message in rest:
        encoded = [_part(_named(p, names)) for p in message.parts]
        if message.role == "tool" and turns and turns[-1][0] == "tool":
            turns[-1][1].extend(encoded)
        else:
            turns.append((message.role, encoded))
    contents = [{"role": _ROLES.get(role, role), "parts": parts} for role, parts in turns]
    return {"contents": contents, **({"systemInstruction": {"parts": parts}} if parts else {})}


def _named(part: Part, names: Mapping[str, str]) -> Part:
    """Returns a result with the name of its tool, which the API wants and its call has."""
    if isinstance(part, Result) and not part.name and part.call_id in names:
        return replace(part, name=names[part.call_id])
    return part


def _part(part: Part) -> Json:
    match part:
        case Text():
            return {"text": part.text}
        case Call():
            identity = {"id": part.id} if part.id else {}
            call = {**identity, "name": part.name, "args": argument_value(part.arguments)}
            return {"functionCall": call, **part.marks}
        case Result():
            identity = {"id": part.call_id} if part.call_id else {}
            return {"functionResponse": {**identity, "name": part.name, "response": _response(part)}}
        case Media():
            inline = split_data_uri(part)
            if inline is not None:
                return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}
            return {"fileData": {"mimeType": part.mime, "fileUri": part.url}}
        case Reasoning():
            signature = {"thoughtSignature": part.signature} if part.signature else {}
            return {"text": part.text, "thought": True, **signature}
        case Opaque():
            return dict(part.native)


def _response(result: Result) -> Json:
    content = result.content.value if isinstance(result.content, Structured) else result.content
    value = parse_json(content) if isinstance(content, str) else content
    if isinstance(value, dict):
        return value
    # The API takes objects only; the SDKs put a plain answer under this key.
    return {"result": result_text(result)}


def encode_tools(tools: Sequence[ToolDefinition]) -> dict[str, Json]:
    """Returns the `tools` of the body."""
    return {"tools": [{"functionDeclarations": [_tool(t) for t in tools]}]}


def _tool(tool: ToolDefinition) -> Json:
    native = tool.native or {}
    key = next((k for k in ("parametersJsonSchema", "parameters_json_schema") if k in native), None)
    if key is None:
        # The field `parameters` takes Gemini's own schema with its upper-case types; any other is JSON Schema.
        kind = tool.parameters.get("type") if isinstance(tool.parameters, dict) else None
        key = "parameters" if isinstance(kind, str) and kind.isupper() else "parameters_json_schema"
    fields = {"name": tool.name, "description": tool.description, key: tool.parameters}
    return {k: v for k, v in fields.items() if v is not None}
