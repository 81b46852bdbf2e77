"""Reading replies: provider responses kept as JSON, and messages in the shapes that `shapes` knows."""

import json
from collections.abc import Mapping, Sequence

from ..calls import Json, ModelReply, ToolCall, Usage
from .dialogue import Call, Message, Text
from .shapes import Object, first_of, read_item, read_message, read_parts
from .values import as_int, as_text


def argument_string(arguments: Json) -> str:
    """Returns the arguments as the string a reply carries; parsed ones are serialised."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def reply_of(message: Message, *, finish_reason: str = "", refusal: str = "") -> ModelReply:
    """Returns the reply that an assistant message is."""
    calls = [p for p in message.parts if isinstance(p, Call)]
    return ModelReply(
        text="".join(p.text for p in message.parts if isinstance(p, Text)),
        tool_calls=tuple(ToolCall(name=c.name, arguments=argument_string(c.arguments), id=c.id) for c in calls),
        finish_reason=finish_reason,
        refusal=refusal,
    )


def merge_messages(messages: Sequence[Message]) -> Message:
    """Returns one assistant message out of several output items of one answer."""
    return Message(role="assistant", parts=tuple(part for m in messages for part in m.parts))


def read_response(raw: Object) -> tuple[ModelReply, ...]:
    """Returns the replies of a whole provider response, recognised by its keys; empty when it is none."""
    response_id = as_text(raw.get("id") or raw.get("responseId") or raw.get("response_id"))
    model = as_text(raw.get("model") or raw.get("modelVersion") or raw.get("model_version"))
    return tuple(
        ModelReply(
            text=r.text,
            tool_calls=r.tool_calls,
            finish_reason=r.finish_reason,
            refusal=r.refusal,
            id=response_id,
            model=model,
        )
        for r in _replies(raw)
    )


def _replies(raw: Object) -> list[ModelReply]:
    if isinstance(raw.get("choices"), list | tuple):
        return [read_choice(c) for c in raw["choices"] if isinstance(c, Mapping)]
    if isinstance(raw.get("candidates"), list | tuple):
        return [
            reply_of(_message(c.get("content")), finish_reason=as_text(first_of(c, "finishReason", "finish_reason")))
            for c in raw["candidates"]
            if isinstance(c, Mapping)
        ]
    output = raw.get("output")
    if isinstance(output, list | tuple):
        items = [m for item in output if isinstance(item, Mapping) for m in read_item(item)]
        return [reply_of(merge_messages(items), finish_reason=as_text(raw.get("status")))] if items else []
    if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping):
        return [reply_of(read_message(output["message"]), finish_reason=as_text(raw.get("stopReason")))]
    if isinstance(raw.get("message"), Mapping):
        return [read_choice(raw)]
    if raw.get("role") == "assistant":
        return [read_choice({"message": raw, "finish_reason": raw.get("stop_reason")})]
    return []


def read_choice(raw: Object) -> ModelReply:
    """Returns the reply of one choice `{message, finish_reason}`."""
    message = raw.get("message")
    finish = as_text(first_of(raw, "finish_reason", "done_reason", "stop_reason", "finishReason"))
    refusal = as_text(message.get("refusal")) if isinstance(message, Mapping) else ""
    return reply_of(_message(message), finish_reason=finish, refusal=refusal)


def _message(raw: Json) -> Message:
    if isinstance(raw, Mapping):
        return read_message({"role": "assistant", **raw})
    return Message(role="assistant", parts=read_parts(raw))


def read_usage(raw: Object) -> Usage | None:
    """Returns the usage of a provider response, under the names of any provider; None when it says nothing."""
    details_in = first_of(raw, "prompt_tokens_details", "input_tokens_details")
    details_out = first_of(raw, "completion_tokens_details", "output_tokens_details")
    cached = as_int(first_of(raw, "cache_read_input_tokens", "cachedContentTokenCount", "cacheReadInputTokens"))
    if cached is None and isinstance(details_in, Mapping):
        cached = as_int(details_in.get("cached_tokens"))
    usage = Usage(
        input_tokens=as_int(
            first_of(raw, "input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount", "prompt_token_count")
        ),
        output_tokens=as_int(
            first_of(
                raw, "output_tokens", "completion_tokens", "outputTokens", "candidatesTokenCount",
                "candidates_token_count",
            )
        ),
        cached_input_tokens=cached,
        reasoning_tokens=as_int(details_out.get("reasoning_tokens")) if isinstance(details_out, Mapping) else None,
    )  # fmt: skip
    return usage if usage != Usage() else None
