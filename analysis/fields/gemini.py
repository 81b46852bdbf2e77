"""Gemini generateContent: `systemInstruction` apart, turns made of parts, arguments and results as objects.

Source: https://ai.google.dev/api/generate-content.
"""

import json
from collections.abc import Iterator
from typing import Any

from ...ingest.calls import Body, Json
from ..attribution.problem import Role
from .form import SYSTEM_MESSAGE, Pointer, TextField, ToolPlace, without_key
from .turns import TurnForm


class GeminiForm(TurnForm):
    """The form of generateContent. Thoughts are never edited: they are signed."""

    turns_key = "contents"
    model_role = "model"
    content_key = "parts"

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields the system instruction, texts, arguments and responses."""
        parts = (body.get("systemInstruction") or {}).get("parts") or ()
        for n, part in enumerate(parts):
            if isinstance(part.get("text"), str):
                pointer: Pointer = ("systemInstruction", "parts", n, "text")
                yield TextField(pointer=pointer, text=part["text"], role=Role.SYSTEM, message=SYSTEM_MESSAGE)
        for index, turn in enumerate(body.get("contents") or ()):
            role = Role.ASSISTANT if turn.get("role") == "model" else Role.USER
            for n, part in enumerate(turn.get("parts") or ()):
                yield from self._part(part, ("contents", index, "parts", n), index, role)

    def _part(self, part: Any, at: Pointer, index: int, role: Role) -> Iterator[TextField]:
        match part:
            case {"thought": True}:
                return
            case {"text": str(text)}:
                yield TextField(pointer=(*at, "text"), text=text, role=role, message=index)
            case {"functionCall": {"name": name, "args": value, **rest}}:
                yield TextField(
                    pointer=(*at, "functionCall", "args"), text=json.dumps(value, ensure_ascii=False),
                    role=Role.CALL_ARGUMENTS, message=index, tool=str(name), call_id=str(rest.get("id", "")),
                    is_json=True,
                )  # fmt: skip
            case {"functionResponse": {"name": name, "response": value, **rest}}:
                yield TextField(
                    pointer=(*at, "functionResponse", "response"), text=json.dumps(value, ensure_ascii=False),
                    role=Role.TOOL, message=index, tool=str(name), call_id=str(rest.get("id", "")), is_json=True,
                )  # fmt: skip

    def tools(self, body: Body) -> Iterator[ToolPlace]:
        """Yields function declarations."""
        for index, tool in enumerate(body.get("tools") or ()):
            for n, function in enumerate(tool.get("functionDeclarations") or ()):
                at: Pointer = ("tools", index, "functionDeclarations", n)
                key = "parametersJsonSchema" if "parametersJsonSchema" in function else "parameters"
                yield ToolPlace(name=str(function.get("name", "")), pointer=at, schema=(*at, key))

    def text_block(self, text: str) -> Json:
        """A part with a text."""
        return {"text": text}

    def user_turn(self, text: str) -> Json:
        """A turn of the user."""
        return {"role": "user", "parts": [self.text_block(text)]}

    def tidy(self, body: Body, original: Body) -> Body:
        """Returns a body that the API accepts after texts were emptied."""
        system = body.get("systemInstruction")
        if system is not None and system is not original.get("systemInstruction"):
            parts = [p for p in system["parts"] if p.get("text") != ""]
            kept = {**body, "systemInstruction": {**system, "parts": parts}}
            body = kept if parts else without_key(body, "systemInstruction")
        return super().tidy(body, original)

    def with_system(self, body: Body, prompt: str) -> Body:
        """Returns the body with this system instruction."""
        return {**body, "systemInstruction": {"parts": [self.text_block(prompt)]}}
