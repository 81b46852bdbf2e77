"""Bedrock Converse: `system` blocks apart, typed content blocks, arguments as objects, results inside user turns.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...ingest.calls import Body, Json
from ..attribution.problem import Role
from .form import REMOVED, SYSTEM_MESSAGE, Pointer, TextField, ToolPlace, without_key
from .turns import TurnForm


class BedrockForm(TurnForm):
    """The form of Converse. Reasoning is never edited: it is signed."""

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields the system prompt, texts, arguments and results."""
        for n, block in enumerate(body.get("system") or ()):
            if isinstance(block.get("text"), str):
                pointer: Pointer = ("system", n, "text")
                yield TextField(pointer=pointer, text=block["text"], role=Role.SYSTEM, message=SYSTEM_MESSAGE)
        names = {u.get("toolUseId"): str(u.get("name", "")) for u in _tool_uses(body)}
        for index, turn in enumerate(body.get("messages") or ()):
            role = Role.ASSISTANT if turn.get("role") == "assistant" else Role.USER
            for n, block in enumerate(turn.get("content") or ()):
                yield from self._block(block, ("messages", index, "content", n), index, role, names)

    def _block(self, block: Any, at: Pointer, index: int, role: Role, names: dict[Any, str]) -> Iterator[TextField]:
        match block:
            case {"text": str(text)}:
                yield TextField(pointer=(*at, "text"), text=text, role=role, message=index)
            case {"toolUse": {"input": value, **use}}:
                yield TextField(
                    pointer=(*at, "toolUse", "input"), text=json.dumps(value, ensure_ascii=False),
                    role=Role.CALL_ARGUMENTS, message=index, tool=str(use.get("name", "")),
                    call_id=str(use.get("toolUseId", "")), is_json=True,
                )  # fmt: skip
            case {"toolResult": {"content": list(parts), **result}}:
                call_id = str(result.get("toolUseId", ""))
                for n, part in enumerate(parts):
                    place = _result(part, (*at, "toolResult", "content", n), index)
                    if place is not None:
                        yield replace(place, tool=names.get(call_id, ""), call_id=call_id)

    def tools(self, body: Body) -> Iterator[ToolPlace]:
        """Yields tool specifications."""
        for index, tool in enumerate((body.get("toolConfig") or {}).get("tools") or ()):
            if "toolSpec" in tool:
                at: Pointer = ("toolConfig", "tools", index, "toolSpec")
                name = str(tool["toolSpec"].get("name", ""))
                yield ToolPlace(name=name, pointer=at, schema=(*at, "inputSchema", "json"))

    def text_block(self, text: str) -> Json:
        """A block with a text."""
        return {"text": text}

    def user_turn(self, text: str) -> Json:
        """A turn of the user."""
        return {"role": "user", "content": [self.text_block(text)]}

    def mend_block(self, block: Json, original: Json) -> Json | None:
        """A tool result may not hold empty texts."""
        match block:
            case {"toolResult": {"content": list(parts), **result}}:
                kept = [p for p in parts if p.get("text") != ""] or [self.text_block(REMOVED)]
                return {**block, "toolResult": {**result, "content": kept}}
        return super().mend_block(block, original)

    def is_complete(self, blocks: Sequence[Any]) -> bool:
        """A turn needs more than reasoning and cache points."""
        return any(not ("reasoningContent" in b or "cachePoint" in b) for b in blocks)

    def tidy(self, body: Body, original: Body) -> Body:
        """Returns a body that the API accepts after texts were emptied."""
        system = body.get("system")
        if system is not None and system is not original.get("system"):
            kept = [b for b in system if b.get("text") != ""]
            said = any("cachePoint" not in b for b in kept)
            body = {**body, "system": kept} if said else without_key(body, "system")
        return super().tidy(body, original)

    def with_system(self, body: Body, prompt: str) -> Body:
        """Returns the body with this system prompt."""
        return {**body, "system": [self.text_block(prompt)]}


def _tool_uses(body: Body) -> Iterator[Any]:
    for turn in body.get("messages") or ():
        for block in turn.get("content") or ():
            if "toolUse" in block:
                yield block["toolUse"]


def _result(part: Any, at: Pointer, index: int) -> TextField | None:
    match part:
        case {"text": str(text)}:
            return TextField(pointer=(*at, "text"), text=text, role=Role.TOOL, message=index)
        case {"json": value}:
            text = json.dumps(value, ensure_ascii=False)
            return TextField(pointer=(*at, "json"), text=text, role=Role.TOOL, message=index, is_json=True)
    return None
