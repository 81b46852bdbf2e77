"""OpenAI Responses. Source: https://platform.openai.com/docs/api-reference/responses."""

from collections.abc import Mapping
from typing import Any

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ..completion import Completion

TRANSPORT_ONLY = frozenset({"stream", "stream_options", "background"})


class OpenAIResponsesWire:
    """How the Responses API is spoken. A replay is never stored at the provider, and never runs a tool there."""

    samples = 1

    def path(self, request: Body) -> str:
        """The same for every model."""
        return "/responses"

    def encode(self, request: Body, count: int) -> Body:
        """Sends the recorded body; one request gives one sample.

        The API calls MCP servers by itself unless each call has to be approved. A replay only wants to know what would
        be called, so it demands approval and never gives it.
        """
        body = {**{k: v for k, v in request.items() if k not in TRANSPORT_ONLY}, "store": False}
        tools = [{**t, "require_approval": "always"} if t.get("type") == "mcp" else t for t in body.get("tools") or ()]
        return {**body, "tools": tools} if "tools" in body else body

    def decode(self, value: Any) -> list[Completion]:
        """Reads a response object."""
        parts = [p for item in value["output"] if item.get("type") == "message" for p in item["content"]]
        incomplete = (value.get("incomplete_details") or {}).get("reason") or ""
        refusal = "".join(p.get("refusal", "") for p in parts if p["type"] == "refusal")
        reply = ModelReply(
            text="".join(p["text"] for p in parts if p["type"] == "output_text"),
            tool_calls=tuple(_call(item) for item in value["output"] if item.get("type") in CALLS),
            finish_reason=FINISH.get(incomplete, incomplete) or str(value.get("status", "")),
            refusal=refusal or ("content filter" if incomplete == "content_filter" else ""),
            id=value.get("id") or "",
            model=value.get("model") or "",
            error=str((value.get("error") or {}).get("code") or ""),
        )
        return [Completion(reply=reply, usage=_usage(value.get("usage") or {}))]


CALLS = frozenset({"function_call", "custom_tool_call", "mcp_approval_request"})
FINISH = {"max_output_tokens": "length"}


def _call(item: Mapping[str, Any]) -> ToolCall:
    arguments = item.get("arguments") or item.get("input") or ""
    return ToolCall(name=item["name"], arguments=arguments, id=item.get("call_id") or item.get("id") or "")


def _usage(value: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=value.get("input_tokens"),
        output_tokens=value.get("output_tokens"),
        cached_input_tokens=(value.get("input_tokens_details") or {}).get("cached_tokens"),
        reasoning_tokens=(value.get("output_tokens_details") or {}).get("reasoning_tokens"),
    )
