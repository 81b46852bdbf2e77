"""Anthropic messages: `system` apart, content as a text or blocks, arguments as objects, results inside user turns.

Source: https://docs.anthropic.com/en/api/messages.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ...ingest.calls import Body, Json
from ..attribution.problem import Role
from .form import REMOVED, SYSTEM_MESSAGE, Pointer, TextField, ToolPlace, without_key
from .turns import TurnForm


class AnthropicForm(TurnForm):
    """The form of the Messages API. Thinking is never edited: it is signed."""

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields the system prompt, message texts, results and arguments."""
        for pointer, text in _texts(body.get("system"), ("system",)):
            yield TextField(pointer=pointer, text=text, role=Role.SYSTEM, message=SYSTEM_MESSAGE)
        names = {b.get("id"): str(b.get("name", "")) for b in _blocks(body) if b.get("type") == "tool_use"}
        for index, turn in enumerate(body.get("messages") or ()):
            role = Role.ASSISTANT if turn.get("role") == "assistant" else Role.USER
            content, at = turn.get("content"), ("messages", index, "content")
            if isinstance(content, str):
                yield TextField(pointer=at, text=content, role=role, message=index)
            for n, block in enumerate(content if isinstance(content, list) else ()):
                yield from self._block(block, (*at, n), index, role, names)

    def _block(self, block: Any, at: Pointer, index: int, role: Role, names: dict[Any, str]) -> Iterator[TextField]:
        match block:
            case {"type": "tool_use" | "server_tool_use", "input": value}:
                yield TextField(
                    pointer=(*at, "input"), text=json.dumps(value, ensure_ascii=False), role=Role.CALL_ARGUMENTS,
                    message=index, tool=str(block.get("name", "")), call_id=str(block.get("id", "")), is_json=True,
                )  # fmt: skip
            case {"type": "tool_result"}:
                call_id = str(block.get("tool_use_id", ""))
                for pointer, text in _texts(block.get("content"), (*at, "content")):
                    yield TextField(
                        pointer=pointer, text=text, role=Role.TOOL, message=index, tool=names.get(call_id, ""),
                        call_id=call_id,
                    )  # fmt: skip
            case {"type": "document", "source": {"type": "text", "data": str(text)}}:
                yield TextField(pointer=(*at, "source", "data"), text=text, role=role, message=index)
            case {"type": "search_result", "content": list(parts)}:
                for pointer, text in _texts(parts, (*at, "content")):
                    yield TextField(pointer=pointer, text=text, role=Role.TOOL, message=index)
            case {"type": "text", "text": str(text)}:
                yield TextField(pointer=(*at, "text"), text=text, role=role, message=index)

    def tools(self, body: Body) -> Iterator[ToolPlace]:
        """Yields the tools of the client; the API's own have no description here."""
        for index, tool in enumerate(body.get("tools") or ()):
            if "input_schema" in tool:
                at: Pointer = ("tools", index)
                yield ToolPlace(name=str(tool.get("name", "")), pointer=at, schema=(*at, "input_schema"))

    def mend_block(self, block: Json, original: Json) -> Json | None:
        """Nested contents may not hold empty texts, and a document may not be empty."""
        match block:
            case {"type": "tool_result", "content": ""}:
                return {**block, "content": REMOVED}
            case {"type": "tool_result" | "search_result", "content": list(parts)}:
                kept = [p for p in parts if p.get("text") != ""] or [self.text_block(REMOVED)]
                return {**block, "content": kept}
            case {"type": "document", "source": {"data": ""}}:
                return None
        return super().mend_block(block, original)

    def is_complete(self, blocks: Sequence[Any]) -> bool:
        """The API refuses a turn that ends with thinking."""
        return blocks[-1].get("type") not in {"thinking", "redacted_thinking"}

    def tidy(self, body: Body, original: Body) -> Body:
        """Returns a body that the API accepts after texts were emptied."""
        system = body.get("system")
        if isinstance(system, list) and system is not original.get("system"):
            system = [b for b in system if b.get("text") != ""]
            body = {**body, "system": system}
        if system is not original.get("system") and not system:
            body = without_key(body, "system")
        return super().tidy(body, original)

    def with_system(self, body: Body, prompt: str) -> Body:
        """Returns the body with this system prompt."""
        return {**body, "system": prompt}


def _blocks(body: Body) -> Iterator[Any]:
    for turn in body.get("messages") or ():
        content = turn.get("content")
        yield from content if isinstance(content, list) else ()


def _texts(content: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(content, str):
        yield at, content
    for n, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part.get("text"), str):
            yield (*at, n, "text"), part["text"]
