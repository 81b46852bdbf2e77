"""Ollama chat. Source: https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion."""

from collections.abc import Iterator, Sequence

from ...calls import Json
from ...dialects.dialogue import Call, Media, Message, Reasoning, Result, Text
from . import chat
from .content import argument_value, result_text, split_data_uri


def encode_messages(system: Sequence[Message], messages: Sequence[Message]) -> dict[str, Json]:
    """Returns the `messages` of the body: text as a string, images beside it, arguments as objects."""
    return {"messages": [m for message in (*system, *messages) for m in _encode(message)]}


def _encode(message: Message) -> Iterator[Json]:
    results = [p for p in message.parts if isinstance(p, Result)]
    for result in results:
        named = {"tool_name": result.name} if result.name else {}
        yield {"role": "tool", "content": result_text(result), **named}
    if results and len(results) == len(message.parts):
        return
    turn: dict[str, Json] = {"role": "assistant" if message.role == "model" else message.role}
    text = "".join(p.text for p in message.parts if isinstance(p, Text))
    if text or not any(isinstance(p, Call) for p in message.parts):
        turn["content"] = text
    thinking = "".join(p.text for p in message.parts if isinstance(p, Reasoning))
    inline = [split_data_uri(p) for p in message.parts if isinstance(p, Media)]
    images = [data[1] for data in inline if data]
    calls = [
        {"function": {"name": p.name, "arguments": argument_value(p.arguments)}}
        for p in message.parts
        if isinstance(p, Call)
    ]
    extras = {"thinking": thinking, "images": images, "tool_calls": calls}
    yield {**turn, **{k: v for k, v in extras.items() if v}}


encode_tools = chat.encode_tools
