"""The conversation as an agent's span keeps it: a list of messages, as JSON or as Haystack prints its objects."""

import ast
import re
from collections.abc import Iterator, Mapping

from ..calls import Json
from .dialogue import Call, Message, Part, Result, Text
from .shapes import read_messages
from .values import as_text

_ENUM = re.compile(r"<ChatRole\.\w+: '(\w+)'>")
_PRINTED = "ChatMessage(_role="


def read_transcript(value: Json) -> tuple[Message, ...]:
    """Returns the messages of an object's `messages`; empty when there are none of a known form."""
    raw = value.get("messages") if isinstance(value, Mapping) else None
    if not isinstance(raw, list) or not raw:
        return ()
    if all(isinstance(item, Mapping) and isinstance(item.get("role"), str) for item in raw):
        return read_messages(raw)
    if all(isinstance(item, str) and item.startswith(_PRINTED) for item in raw):
        return tuple(message for item in raw for message in _read_printed(item))
    return ()


def _read_printed(text: str) -> Iterator[Message]:
    """Yields the message of a printed ChatMessage, which is a Python expression but for the enum."""
    try:
        fields = _fields(ast.parse(_ENUM.sub(r"'\1'", text), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    role, content = fields.get("_role"), fields.get("_content")
    if isinstance(role, ast.Constant) and isinstance(content, ast.List):
        parts = tuple(part for item in content.elts for part in _part(item))
        yield Message(role=str(role.value), parts=parts, is_plain=True)


def _fields(node: ast.expr) -> dict[str, ast.expr]:
    return {k.arg: k.value for k in node.keywords if k.arg} if isinstance(node, ast.Call) else {}


def _part(node: ast.expr) -> Iterator[Part]:
    kind = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    fields = _fields(node)
    if kind == "TextContent":
        yield Text(text=as_text(_literal(fields.get("text"))))
    elif kind == "ToolCall":
        yield _call(fields)
    elif kind == "ToolCallResult":
        origin = _call(_fields(fields["origin"])) if "origin" in fields else None
        content = as_text(_literal(fields.get("result")))
        yield Result(content=content, call_id=origin.id, name=origin.name) if origin else Result(content=content)


def _call(fields: Mapping[str, ast.expr]) -> Call:
    return Call(
        name=as_text(_literal(fields.get("tool_name"))),
        arguments=_literal(fields.get("arguments")),
        id=as_text(_literal(fields.get("id"))),
    )


def _literal(node: ast.expr | None) -> Json:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
