"""Anthropic messages. Source: https://docs.anthropic.com/en/api/messages."""

import json
from collections.abc import Mapping
from typing import Any

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ....ingest.errors import NotReplayableError
from ..completion import Completion

VERSION = "2023-06-01"
"""The `anthropic-version` header."""
_MARK = {"cache_control": {"type": "ephemeral"}}


class AnthropicWire:
    """How the Messages API is spoken."""

    samples = 1

    def path(self, request: Body) -> str:
        """The same for every model."""
        return "/v1/messages"

    def encode(self, request: Body, count: int) -> Body:
        """Sends the recorded body, its long constant beginning marked for the provider's cache.

        NotReplayableError for a request that lets the provider call tools of MCP servers by itself: a replay would
        run them again.
        """
        if request.get("mcp_servers"):
            raise NotReplayableError(
                "the provider calls MCP servers for this request by itself, so a replay would run their tools again",
                hint="--param mcp_servers= leaves them out, at the price of another request",
            )
        return _with_cache_mark({k: v for k, v in request.items() if k != "stream"})

    def decode(self, value: Any) -> list[Completion]:
        """Reads a message object."""
        blocks = value["content"]
        stop = value.get("stop_reason") or ""
        reply = ModelReply(
            text="".join(b["text"] for b in blocks if b["type"] == "text"),
            tool_calls=tuple(
                ToolCall(name=b["name"], arguments=json.dumps(b["input"], ensure_ascii=False), id=b.get("id") or "")
                for b in blocks
                if b["type"] == "tool_use"
            ),
            finish_reason=stop,
            refusal="refusal" if stop == "refusal" else "",
            id=value.get("id") or "",
            model=value.get("model") or "",
        )
        return [Completion(reply=reply, usage=_usage(value.get("usage") or {}))]


def _with_cache_mark(body: dict[str, Any]) -> Body:
    """Marks the system prompt, or else the tools, unless the request places its own marks.

    Every replay of a case begins with the same tools and system prompt, so reading them once is enough. The mark
    changes what is billed and never what is answered.
    """
    if "cache_control" in json.dumps([body.get("tools"), body.get("system"), body.get("messages")]):
        return body
    system, tools = body.get("system"), body.get("tools")
    if isinstance(system, str) and system:
        return {**body, "system": [{"type": "text", "text": system, **_MARK}]}
    if isinstance(system, list) and system:
        return {**body, "system": [*system[:-1], {**system[-1], **_MARK}]}
    if tools:
        return {**body, "tools": [*tools[:-1], {**tools[-1], **_MARK}]}
    return body


def _usage(value: Mapping[str, Any]) -> Usage:
    """Anthropic counts tokens read from and written to its cache apart from `input_tokens`."""
    read, written = value.get("cache_read_input_tokens"), value.get("cache_creation_input_tokens")
    fresh = value.get("input_tokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=value.get("output_tokens"),
        cached_input_tokens=read,
    )
