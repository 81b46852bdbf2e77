"""AnyValue in Parquet: `list<struct<key, kind, value>>`, lossless, and readable in SQL without a parser.

`value` is text: a string as it is, numbers and booleans as JSON writes them (doubles may also be `nan`, `inf`,
`-inf`), bytes in base64, arrays and kvlists as JSON. `kind` says which. Inside JSON, what JSON cannot say is an object
with one `$` key: `{"$bytes": "…"}`, `{"$double": "nan"}`; a kvlist whose only key starts with `$` gets one more `$`.
A long text is folded: its kind ends with `*`, and `value` refers to the table `messages` (see `bodies.py`).
"""

import base64
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson
import pyarrow as pa

from ..otlp.values import read_value
from ..spans import AnyValue, Attributes
from .bodies import FOLDED, MIN_TEXT, Bodies, unfold

STRING, NONE = "string", "none"

ATTRIBUTES = pa.list_(pa.struct([("key", pa.string()), ("kind", pa.string()), ("value", pa.string())]))

_FLATTEN: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "int_value": ("int", lambda message: str(message.int_value)),
    "bool_value": ("bool", lambda message: "true" if message.bool_value else "false"),
    "double_value": ("double", lambda message: repr(message.double_value)),
    "bytes_value": ("bytes", lambda message: _base64(message.bytes_value)),
    "array_value": ("array", lambda message: to_json_text(read_value(message))),
    "kvlist_value": ("kvlist", lambda message: to_json_text(read_value(message))),
}


def flatten_value(message: Any) -> tuple[str, str | None]:
    """Returns (kind, text) of an AnyValue message."""
    field = message.WhichOneof("value")
    if field == "string_value":
        return STRING, message.string_value
    if field not in _FLATTEN:
        return NONE, None
    kind, text = _FLATTEN[field]
    return kind, text(message)


def restore_value(kind: str, text: str | None, bodies: Mapping[str, str]) -> AnyValue:
    """Returns the value that `flatten_value` made a text of. `bodies`: messages of the trace, by hash."""
    if text is None:
        return None
    if kind.endswith(FOLDED):
        return restore_value(kind.removesuffix(FOLDED), unfold(text, bodies), bodies)
    match kind:
        case "string":
            return text
        case "int":
            return int(text)
        case "double":
            return float(text)
        case "bool":
            return text == "true"
        case "bytes":
            return base64.b64decode(text)
        case _:
            return from_json_text(text)


def restore_attributes(rows: Iterable[Mapping[str, str]], bodies: Mapping[str, str]) -> Attributes:
    """Returns attributes from their Parquet form."""
    return {row["key"]: restore_value(row["kind"], row["value"], bodies) for row in rows}


def to_json_text(value: AnyValue) -> str:
    """Returns a value as lossless JSON text."""
    return orjson.dumps(_to_plain(value)).decode()


def from_json_text(text: str) -> AnyValue:
    """Returns the value that `to_json_text` wrote."""
    return _from_plain(orjson.loads(text))


def _to_plain(value: AnyValue) -> Any:
    match value:
        case bytes():
            return {"$bytes": _base64(value)}
        case float() if not math.isfinite(value):
            return {"$double": repr(value)}
        case str() | int() | float() | None:
            return value
        case Mapping():
            plain = {key: _to_plain(item) for key, item in value.items()}
            return {"$" + key: item for key, item in plain.items()} if _is_escape(plain) else plain
        case _:
            return [_to_plain(item) for item in value]


def _from_plain(plain: Any) -> AnyValue:
    match plain:
        case {"$bytes": str(text), **rest} if not rest:
            return base64.b64decode(text)
        case {"$double": str(text), **rest} if not rest:
            return float(text)
        case dict():
            keep = 1 if _is_escape(plain) else 0
            return {key[keep:]: _from_plain(item) for key, item in plain.items()}
        case list():
            return tuple(_from_plain(item) for item in plain)
        case _:
            value: AnyValue = plain
            return value


def _is_escape(plain: Mapping[str, Any]) -> bool:
    return len(plain) == 1 and next(iter(plain)).startswith("$")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


class AttributesBuilder:
    """Collects the attributes of many rows in flat columns: 10 times cheaper than a list of dicts a row."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._keys: list[str] = []
        self._kinds: list[str] = []
        self._values: list[str | None] = []
        self._offsets = [0]

    def add_row(self, pairs: Any, trace_id: str, time_us: int) -> None:
        """Appends the attributes of one row, a repeated KeyValue field."""
        for pair in pairs:
            key = pair.key
            kind, text = fold_value(self._bodies, trace_id, time_us, key, *flatten_value(pair.value))
            self._keys.append(key)
            self._kinds.append(kind)
            self._values.append(text)
        self._offsets.append(len(self._keys))

    def build(self) -> pa.Array:
        """Returns the column."""
        fields = [pa.array(column, pa.string()) for column in (self._keys, self._kinds, self._values)]
        structs = pa.StructArray.from_arrays(fields, fields=list(ATTRIBUTES.value_type))
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), structs, type=ATTRIBUTES)


def fold_value(
    bodies: Bodies, trace_id: str, time_us: int, key: str, kind: str, text: str | None
) -> tuple[str, str | None]:
    """Returns (kind, text), folded when the text is long and belongs to a trace."""
    if text is None or not trace_id or len(encoded := text.encode()) < MIN_TEXT:
        return kind, text
    return kind + FOLDED, bodies.fold(trace_id, time_us, key, encoded)
