"""What a model's reply did, as one span's recorded output tells it: tools called, words said, why it ended.

Walks whatever JSON a convention put there, by the shapes that providers use, so that no convention needs a reader of
its own here. Best effort: the exact reply is `rebuild`'s business.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import orjson

from ..spans import AnyValue

TEXT_LENGTH = 1000
"""Characters of a reply that are kept; the whole text is in the attributes."""
FLAT_PREFIXES = ("llm.output_messages.", "gen_ai.completion.")
"""Conventions that spread a reply over numbered attributes."""
_FLAT_NAMES = (".tool_call.function.name", ".function_call.name")
_FLAT_TEXTS = (".message.content", ".content")
_CALL_KEYS = ("function", "toolUse", "functionCall", "function_call")
_ARGUMENTS = ("arguments", "input", "args")
_CALL_TYPES = ("tool_call", "tool_use", "function_call", "tool-call")
_TEXT_TYPES = ("text", "output_text", "message")
_REPLYING_ROLES = ("assistant", "model", "ai")
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_CONTAINERS = (dict, list, tuple)

Objects: TypeAlias = Sequence[dict[str, Any]]
"""Every object inside one output, see `objects_in`."""


class Called(NamedTuple):
    """A tool call in a reply."""

    name: str
    arguments: str | None
    """JSON, as the model wrote it where the span has a string; None where it is not recorded."""


def find_calls(flat: Mapping[str, AnyValue], outputs: Sequence[Objects]) -> tuple[Called, ...]:
    """Returns the tool calls in order, from numbered attributes where there are some, else from the objects of outputs.

    The same call may be in several outputs of one span; it counts once.
    """
    numbered = [
        Called(value, _as_text(flat.get(key.removesuffix("name") + "arguments")))
        for key, value in flat.items()
        if _is_call_name(key) and isinstance(value, str) and value
    ]
    if numbered:
        return tuple(numbered)
    for objects in outputs:
        calls = tuple(call for item in objects if (call := _tool_call(item)))
        if calls:
            return calls
    return ()


def find_text(flat: Mapping[str, AnyValue], outputs: Sequence[Objects]) -> str | None:
    """Returns what the reply says, its first TEXT_LENGTH characters; None where it says nothing or is not recorded."""
    for key, value in flat.items():
        if key.endswith(_FLAT_TEXTS) and ".tool_calls." not in key and isinstance(value, str) and value:
            return value[:TEXT_LENGTH]
    for objects in outputs:
        said = dict.fromkeys(text for item in objects if (text := _words(item)))
        if said:
            return "\n".join(said)[:TEXT_LENGTH]
    return None


def find_finish_reason(outputs: Sequence[Objects]) -> str | None:
    """Returns why the reply ended, in the provider's word."""
    for item in chain.from_iterable(outputs):
        for key in _REASONS:
            if isinstance(item.get(key), str):
                return str(item[key])
    return None


def objects_in(value: Any) -> Objects:
    """Returns every object inside a parsed reply, outer before inner."""
    objects, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            # An earlier message, in a list that holds request and reply alike (pydantic-ai's `events`), is no reply.
            if item.get("event.name", "gen_ai.choice") == "gen_ai.choice":
                objects.append(item)
                stack += [inner for inner in reversed(item.values()) if isinstance(inner, _CONTAINERS)]
        elif isinstance(item, _CONTAINERS):
            stack += reversed(item)
    return objects


def _is_call_name(key: str) -> bool:
    return key.endswith(_FLAT_NAMES) or (".tool_calls." in key and key.endswith(".name"))


def _tool_call(item: dict[str, Any]) -> Called | None:
    """Returns the call if the object is one, in any provider's form."""
    if not item.keys().isdisjoint(_CALL_KEYS):
        for key in _CALL_KEYS:
            inner = item.get(key)
            if isinstance(inner, dict) and not inner.keys().isdisjoint(_ARGUMENTS):
                return _called(inner.get("name"), inner)
    if item.get("type") in _CALL_TYPES:
        return _called(item.get("name") or item.get("toolName"), item)
    return _called(item.get("toolName"), item) if "toolCallId" in item else None


def _called(name: Any, holder: Mapping[str, Any]) -> Called | None:
    if not isinstance(name, str) or not name:
        return None
    arguments = next((holder[key] for key in _ARGUMENTS if key in holder), None)
    return Called(name, _as_text(arguments))


def _words(item: Mapping[str, Any]) -> str | None:
    """Returns the text of a message or of one of its parts."""
    kind = item.get("type")
    if kind is not None and kind not in _TEXT_TYPES:
        return None
    text = item.get("text")
    if text is None and (kind == "text" or item.get("role") in _REPLYING_ROLES):
        text = item.get("content")
    return text if isinstance(text, str) and text else None


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return None  # bytes and the like: not JSON, and then not arguments
