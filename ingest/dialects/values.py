"""Reading attribute values: JSON kept in strings, numbers kept as strings, arrays kept in numbered keys."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from ..calls import Json
from ..spans import AnyValue, Attributes

_DECODER = json.JSONDecoder()


def parse_json(value: AnyValue) -> Json:
    """Returns the parsed value of a JSON string, any other value as JSON, and None for text that is not JSON."""
    if not isinstance(value, str):
        return to_json(value)
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        # NaN, huge integers and lone surrogates, which Python's own serialiser writes.
        try:
            return _DECODER.decode(value)
        except (ValueError, RecursionError):
            return None


def to_json(value: AnyValue) -> Json:
    """Returns an attribute value as JSON: bytes become base64, which is how requests carry them."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(inner) for inner in value]
    return value


def parse_list(value: AnyValue) -> list[Json] | None:
    """Returns a list kept as an array or as a JSON string; None for anything else."""
    parsed = parse_json(value)
    return list(parsed) if isinstance(parsed, list | tuple) else None


def parse_object(value: AnyValue) -> dict[str, Json] | None:
    """Returns an object kept as a map or as a JSON string; None for anything else."""
    parsed = parse_json(value)
    return dict(parsed) if isinstance(parsed, Mapping) else None


def salvage_list(text: str) -> list[Json]:
    """Returns the complete elements at the start of a JSON array that was cut off."""
    found: list[Json] = []
    position = text.find("[") + 1
    while 0 < position < len(text):
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        try:
            element, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        found.append(element)
    return found


def as_text(value: AnyValue) -> str:
    """Returns a string value, or an empty string for anything else."""
    return value if isinstance(value, str) else ""


def as_int(value: AnyValue) -> int | None:
    """Returns a whole number that may have been sent as a string or a float; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return None
    return None


def as_float(value: AnyValue) -> float | None:
    """Returns a number that may have been sent as a string; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def text_list(value: AnyValue) -> list[str]:
    """Returns the strings of an array, of a JSON array in a string, or of a single string."""
    if isinstance(value, str):
        value = parse_list(value) or [value]
    return [v for v in value if isinstance(v, str)] if isinstance(value, list | tuple) else []


def first(attributes: Attributes, *keys: str) -> Json:
    """Returns the value of the first key that is there and not empty, as JSON."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return to_json(value)
    return None


def first_text(attributes: Attributes, *keys: str) -> str:
    """Returns the first value that is a text."""
    return as_text(first(attributes, *keys))


def unflatten(attributes: Attributes, prefix: str) -> Json:
    """Returns the tree that was written as `prefix.0.name`, `prefix.0.items.1`, …: lists for numbers, else maps.

    A list keeps its order but not its gaps: `numbering_gaps` tells whether elements are missing.
    """
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            *path, leaf = key[len(prefix) :].split(".")
            node: Any = tree
            for step in path:
                child = node.setdefault(step, {})
                if not isinstance(child, dict):  # A key that is both a value and a prefix: the deeper one wins.
                    child = node[step] = {}
                node = child
            if not isinstance(node.get(leaf), dict):
                node[leaf] = to_json(value)
    return _listed(tree)


def _listed(node: Any) -> Json:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(child) for key, child in node.items()}


def numbering_gaps(attributes: Attributes, prefix: str) -> tuple[int, ...]:
    """Returns the indexes below the highest one that `prefix.N.…` does not use."""
    used = set(_indexes(attributes, prefix))
    return tuple(i for i in range(max(used, default=-1)) if i not in used)


def _indexes(attributes: Attributes, prefix: str) -> Iterator[int]:
    for key in attributes:
        if key.startswith(prefix):
            index = key[len(prefix) :].partition(".")[0]
            if index.isdecimal():
                yield int(index)
