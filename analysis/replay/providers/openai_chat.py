"""OpenAI chat completions, and every server that speaks them: vLLM, llama.cpp, LM Studio, Azure, OpenRouter, …

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from collections.abc import Mapping
from typing import Any

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ..completion import Completion

TRANSPORT_ONLY = frozenset({"stream", "stream_options", "n", "store"})
"""Fields of a recorded request that say how the reply travels and is kept, not what is asked."""


class OpenAIChatWire:
    """How chat completions are spoken; `n` gives several samples for one reading of the prompt."""

    samples = 8

    def path(self, request: Body) -> str:
        """The same for every model."""
        return "/chat/completions"

    def encode(self, request: Body, count: int) -> Body:
        """Asks for `n` samples where that is more than one."""
        body = {k: v for k, v in request.items() if k not in TRANSPORT_ONLY}
        return {**body, "n": count} if count > 1 else body

    def decode(self, value: Any) -> list[Completion]:
        """Reads a chat completion object."""
        return decode_completions(value)


def decode_completions(value: Mapping[str, Any]) -> list[Completion]:
    """Reads a chat completion object; one Completion a choice. The usage of all choices is on the first.

    Raises ValueError, KeyError, TypeError or AttributeError for anything that is not a chat completion.
    """
    usage = _usage(value.get("usage") or {})
    completions = [
        Completion(
            reply=_reply(choice, value),
            usage=usage if index == 0 else Usage(),
            logprobs=(choice.get("logprobs") or {}).get("content") or (),
        )
        for index, choice in enumerate(value["choices"])
    ]
    if not completions:
        raise ValueError("no choices")
    return completions


def _reply(choice: Mapping[str, Any], whole: Mapping[str, Any]) -> ModelReply:
    message = choice["message"]
    finish = choice.get("finish_reason") or ""
    return ModelReply(
        text=_text(message.get("content")),
        tool_calls=tuple(_calls(message)),
        finish_reason=finish,
        refusal=message.get("refusal") or ("content filter" if finish == "content_filter" else ""),
        id=whole.get("id") or "",
        model=whole.get("model") or "",
    )


def _text(content: Any) -> str:
    # Mistral's endpoint answers with parts.
    return "".join(p.get("text", "") for p in content) if isinstance(content, list) else content or ""


def _calls(message: Mapping[str, Any]) -> list[ToolCall]:
    found = [(c.get("function") or c["custom"], c.get("id") or "") for c in message.get("tool_calls") or ()]
    if message.get("function_call"):
        found.append((message["function_call"], ""))
    return [
        ToolCall(name=inner["name"], arguments=inner.get("arguments") or inner.get("input") or "", id=call_id)
        for inner, call_id in found
    ]


def _usage(value: Mapping[str, Any]) -> Usage:
    details = value.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=value.get("prompt_tokens"),
        output_tokens=value.get("completion_tokens"),
        cached_input_tokens=details.get("cached_tokens"),
        reasoning_tokens=(value.get("completion_tokens_details") or {}).get("reasoning_tokens"),
        cost_usd=value.get("cost") if isinstance(value.get("cost"), int | float) else None,
    )
