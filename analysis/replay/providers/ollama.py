"""Ollama's own chat endpoint. Source: https://github.com/ollama/ollama/blob/main/docs/api.md."""

import json
from collections.abc import Mapping
from typing import Any

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ..completion import Completion


class OllamaWire:
    """How Ollama is spoken; it streams unless told not to."""

    samples = 1

    def path(self, request: Body) -> str:
        """The same for every model."""
        return "/api/chat"

    def encode(self, request: Body, count: int) -> Body:
        """Sends the recorded body and asks for the reply in one piece."""
        return {**request, "stream": False}

    def decode(self, value: Any) -> list[Completion]:
        """Reads a chat response."""
        message = value["message"]
        reply = ModelReply(
            text=message.get("content") or "",
            tool_calls=tuple(_call(c["function"]) for c in message.get("tool_calls") or ()),
            finish_reason=value.get("done_reason") or "",
            model=value.get("model") or "",
        )
        usage = Usage(input_tokens=value.get("prompt_eval_count"), output_tokens=value.get("eval_count"))
        return [Completion(reply=reply, usage=usage)]


def _call(function: Mapping[str, Any]) -> ToolCall:
    return ToolCall(name=function["name"], arguments=json.dumps(function.get("arguments") or {}, ensure_ascii=False))
