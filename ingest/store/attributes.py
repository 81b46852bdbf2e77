"""AnyValue in Parquet: `list<struct<key, kind, value>>`, lossless, and readable in SQL without a parser.

`value` is text: a string as it is, numbers and booleans as JSON writes them (doubles may also be `nan`, `inf`,
`-inf`), bytes in base64, arrays and kvlists as JSON. `kind` says which. Inside JSON, what JSON cannot say is an object
with one `$` key: `{"$bytes": "…"}`, `{"$double": "nan"}`; a kvlist whose only key starts with `$` gets one more `$`.
"""

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from ..otlp.values import read_value
from ..spans import AnyValue, Attributes

STRING, BOOL, INT, DOUBLE, BYTES, ARRAY, KVLIST, NONE = (
    "string", "bool", "int", "double", "bytes", "array", "kvlist", "none",
)  # fmt: skip

ATTRIBUTES = pa.list_(pa.struct([("key", pa.string()), ("kind", pa.string()), ("value", pa.string())]))

_KINDS = {
    "string_value": STRING,
    "bool_value": BOOL,
    "int_value": INT,
    "double_value": DOUBLE,
    "bytes_value": BYTES,
    "array_value": ARRAY,
    "kvlist_value": KVLIST,
}
_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "string_value": lambda m: m.string_value,
    "int_value": lambda m: str(m.int_value),
    "bool_value": lambda m: "true" if m.bool_value else "false",
    "double_value": lambda m: repr(m.double_value),
    "bytes_value": lambda m: _base64(m.bytes_value),
    "array_value": lambda m: to_json_text(read_value(m)),
    "kvlist_value": lambda m: to_json_text(read_value(m)),
}


def flatten_value(message: Any) -> tuple[str, str | None]:
    """Returns (kind, text) of an AnyValue message."""
    field = message.WhichOneof("value")
    if field not in _KINDS:
        return NONE, None
    return _KINDS[field], _TEXTS[field](message)


def restore_value(kind: str, text: str | None) -> AnyValue:
    """Returns the value that `flatten_value` made a text of."""
    if text is None:
        return None
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


def restore_attributes(rows: Iterable[Mapping[str, str]] | None) -> Attributes:
    """Returns attributes from their Parquet form."""
    return {row["key"]: restore_value(row["kind"], row["value"]) for row in rows or ()}


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

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._kinds: list[str] = []
        self._values: list[str | None] = []
        self._offsets = [0]

    def add(self, key: str, kind: str, text: str | None) -> None:
        """Appends an attribute to the current row."""
        self._keys.append(key)
        self._kinds.append(kind)
        self._values.append(text)

    def add_all(self, pairs: Any) -> None:
        """Appends a repeated KeyValue field and ends the row."""
        for pair in pairs:
            self.add(pair.key, *flatten_value(pair.value))
        self.end_row()

    def end_row(self) -> None:
        """Ends the current row."""
        self._offsets.append(len(self._keys))

    def build(self) -> pa.Array:
        """Returns the column."""
        fields = [pa.array(column, pa.string()) for column in (self._keys, self._kinds, self._values)]
        structs = pa.StructArray.from_arrays(fields, names=["key", "kind", "value"])
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), structs).cast(ATTRIBUTES)


def list_column(offsets: Sequence[int], columns: Mapping[str, pa.Array]) -> pa.Array:
    """Returns a column of lists of structs from flat columns."""
    structs = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
