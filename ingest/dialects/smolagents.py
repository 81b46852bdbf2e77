"""smolagents under OpenInference: messages before the library's adapter has changed their roles and joined them.

Source: smolagents, `models.py`, `get_clean_message_list`: tool calls become assistant text, tool responses user text,
and neighbours of one role one message.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..spans import LogRecord, Span
from . import openinference
from .dialogue import Message, Part, Text
from .partial import Found, PartialCall, Trust
from .values import parse_list, parse_object

NAME = "smolagents"

_ROLES = {"tool-call": "assistant", "tool-response": "user"}


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the messages as the adapter sends them; None for other spans."""
    if not span.scope.name.endswith(".smolagents"):
        return None
    recorded = openinference.read(span, logs)
    if recorded is None or recorded.messages is None:
        return None
    messages = tuple(_joined(recorded.messages.value))
    source = f"{NAME}:llm.input_messages"
    stop = parse_list((parse_object(span.attributes.get("input.value")) or {}).get("stop_sequences"))
    return PartialCall(
        messages=replace(recorded.messages, value=messages, source=source, trust=Trust.STRUCTURED),
        params={"stop": Found(stop, f"{NAME}:input.value", Trust.RAW)} if stop else {},
        unrecorded=frozenset({"stop", "tool_choice", "extra_body"}),
    )


def _joined(messages: Sequence[Message]) -> list[Message]:
    joined: list[Message] = []
    for message in messages:
        role = _ROLES.get(message.role, message.role)
        if joined and joined[-1].role == role:
            joined[-1] = replace(joined[-1], parts=_append(joined[-1].parts, message.parts))
        else:
            joined.append(replace(message, role=role))
    return joined


def _append(parts: tuple[Part, ...], more: tuple[Part, ...]) -> tuple[Part, ...]:
    if parts and more and isinstance(parts[-1], Text) and isinstance(more[0], Text):
        return (*parts[:-1], Text(text=f"{parts[-1].text}\n{more[0].text}"), *more[1:])
    return (*parts, *more)
