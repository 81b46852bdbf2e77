"""What the SDK's limits do to attributes: values cut at a length, keys beyond a count dropped."""

from collections.abc import Sequence
from dataclasses import replace

from ..calls import MissingField
from ..spans import Attributes
from .dialogue import Call, Message, Part, Result, Text
from .values import parse_json


def cut_messages(kept: int, length: int, key: str) -> MissingField:
    """Returns the gap of a message list whose JSON ends in the middle."""
    return MissingField(
        name=f"messages[{kept}:] (text, tool call args, call ids, result ids, images)",
        reason=f"{key} is cut off after {length} characters (attribute value length limit)",
        remedy="unset OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    )


def dropped_attributes(count: int) -> MissingField:
    """Returns the gap of a span that had more attributes than its SDK keeps."""
    return MissingField(
        name="messages (text, tool call args, call ids, result ids, images, tools, params)",
        reason=f"attribute count limit: {count} dropped",
        remedy="OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000",
    )


def length_limit(attributes: Attributes) -> int | None:
    """Returns the length at which the values of a span were cut; None when nothing shows that any was.

    The sign is a JSON value that breaks off at the greatest length of all.
    """
    texts = [value for value in attributes.values() if isinstance(value, str)]
    longest = max(map(len, texts), default=0)
    cut = any(len(t) == longest and t[:1] in ("{", "[") and parse_json(t) is None for t in texts)
    return longest if cut else None


def without_cut_texts(messages: Sequence[Message], limit: int) -> tuple[tuple[Message, ...], tuple[MissingField, ...]]:
    """Returns the messages without the texts that reach the limit, and a gap for each message that lost one."""
    kept = tuple(replace(m, parts=tuple(q for p in m.parts for q in _uncut(p, limit))) for m in messages)
    damaged = [i for i, (before, after) in enumerate(zip(messages, kept, strict=True)) if before != after]
    return kept, tuple(
        MissingField(
            name=f"messages[{i}].content (text)",
            reason=f"cut off after {limit} characters (attribute value length limit)",
            remedy="unset OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        )
        for i in damaged
    )


def _uncut(part: Part, limit: int) -> tuple[Part, ...]:
    match part:
        case Text() if len(part.text) == limit:
            return ()
        case Result(content=str() as text) if len(text) == limit:
            return (replace(part, content=None),)
        case Call(arguments=str() as text) if len(text) == limit:
            return ()
    return (part,)
