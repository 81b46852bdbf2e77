"""Ollama chat: chat messages whose content is a text and whose call arguments are objects.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion.
"""

import json
from collections.abc import Iterator
from typing import Any

from ...ingest.calls import Body
from ..attribution.problem import Role
from .chat import ChatForm
from .form import Pointer, TextField


class OllamaForm(ChatForm):
    """The form of Ollama's own chat endpoint."""

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields message texts and arguments; a result names its tool itself."""
        named = ({**m, "name": m.get("tool_name")} if "tool_name" in m else m for m in body.get("messages") or ())
        yield from super().texts({**body, "messages": list(named)})

    def _arguments(self, call: Any, at: Pointer, message: int) -> Iterator[TextField]:
        function = call.get("function") or {}
        if "arguments" in function:
            yield TextField(
                pointer=(*at, "function", "arguments"), text=json.dumps(function["arguments"], ensure_ascii=False),
                role=Role.CALL_ARGUMENTS, message=message, tool=str(function.get("name", "")),
                call_id=str(call.get("id") or ""), is_json=True,
            )  # fmt: skip

    def emptied(self, turn: Any, must_stay: bool) -> Any:
        """Content is always a text; a turn that calls tools may have an empty one."""
        if turn.get("tool_calls"):
            return {**turn, "content": ""}
        return super().emptied(turn, must_stay)
