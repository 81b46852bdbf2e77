"""Columns of protobuf fields, as ptars gives them, in the form of the store: ids as hex, AnyValue as kind and text."""

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue as AnyValueMessage
from opentelemetry.proto.common.v1.common_pb2 import ArrayValue, KeyValueList

from ..otlp.values import read_value
from ..spans import AnyValue
from .attributes import ATTRIBUTES, STRING, to_json_text
from .bodies import FOLDED, MIN_TEXT, Bodies

Index: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
_HEX = np.array([int.from_bytes(b"%02x" % n, "little") for n in range(256)], "<u2")
_KINDS = pa.array([STRING, "bool", "int", "double", "bytes", "array", "kvlist", "none"])
_FIELDS = ("string_value", "bool_value", "int_value", "double_value", "bytes_value", "array_value", "kvlist_value")


def field(struct: pa.StructArray, name: str) -> pa.Array:
    """Returns a child column, null where its parent is."""
    return pc.struct_field(struct, name)


def explode(lists: pa.ListArray) -> tuple[pa.Array, Index]:
    """Returns the items of all lists in a row, and the index of the list that each is from."""
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    return lists.flatten(), np.repeat(np.arange(len(lists)), lengths)


def nest(lists: pa.ListArray, values: Sequence[pa.Array], type: pa.ListType) -> pa.ListArray:
    """Returns lists as long as others, of structs from flat columns."""
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    fields = list(type.value_type)
    columns = [value.cast(f.type) for value, f in zip(values, fields, strict=True)]
    structs = pa.StructArray.from_arrays(columns, fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets), structs, type=type)


def hex_text(ids: pa.Array, width: int) -> pa.Array:
    """Returns binary ids as lowercase hex; `width` is their usual length in bytes."""
    lengths = pc.binary_length(ids).to_numpy(zero_copy_only=False)
    if not len(ids) or not (lengths == width).all():
        return pa.array([id.hex() for id in ids.to_pylist()], pa.string())
    data = np.frombuffer(b"".join(ids.to_pylist()), np.uint8)
    text = _HEX[data].tobytes()
    offsets = np.arange(len(ids) + 1, dtype=np.int32) * 2 * width
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(text))


def parent_text(ids: pa.Array) -> pa.Array:
    """Returns parent span ids as hex, null where there is none."""
    return pa.array([id.hex() if any(id) else None for id in ids.to_pylist()], pa.string())


def python_values(values: pa.StructArray) -> list[AnyValue]:
    """Returns AnyValues as Python has them."""
    columns = [field(values, name).to_pylist() for name in _FIELDS]
    return [_first(row) for row in zip(*columns, strict=True)]


def _first(row: Iterable[Any]) -> AnyValue:
    for name, value in zip(_FIELDS, row, strict=True):
        if value is not None:
            return _nested(name, value) if name in ("array_value", "kvlist_value") else value
    return None


def _nested(name: str, encoded: bytes) -> AnyValue:
    message = AnyValueMessage()
    if name == "array_value":
        message.array_value.CopyFrom(ArrayValue.FromString(encoded))
    else:
        message.kvlist_value.CopyFrom(KeyValueList.FromString(encoded))
    return read_value(message)


def kinds_and_texts(values: pa.StructArray) -> tuple[pa.Array, pa.Array]:
    """Returns AnyValues as (kind, text), the columns of ATTRIBUTES."""
    columns = {name: field(values, name) for name in _FIELDS}
    present = [columns[name].is_valid().to_numpy(zero_copy_only=False) for name in _FIELDS]
    codes = np.select(present, range(len(_FIELDS)), len(_FIELDS)).astype(np.int8)
    kinds = pa.DictionaryArray.from_arrays(pa.array(codes), _KINDS).dictionary_decode()
    texts = pc.coalesce(
        columns["string_value"], columns["bool_value"].cast(pa.string()), columns["int_value"].cast(pa.string()),
        *(_rare(columns[name], write) for name, write in _RARE.items() if columns[name].null_count < len(values)),
    )  # fmt: skip
    return kinds, texts


_RARE: dict[str, Callable[[Any], str]] = {
    "double_value": repr,
    "bytes_value": lambda data: base64.b64encode(data).decode("ascii"),
    "array_value": lambda data: to_json_text(_nested("array_value", data)),
    "kvlist_value": lambda data: to_json_text(_nested("kvlist_value", data)),
}


def _rare(column: pa.Array, write: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else write(value) for value in column.to_pylist()], pa.string())


def fold_long(
    bodies: Bodies, kinds: pa.Array, texts: pa.Array, keys: pa.Array, trace_ids: Callable[[int], str],
    times_us: Callable[[int], int],
) -> tuple[pa.Array, pa.Array]:  # fmt: skip
    """Returns kinds and texts with the long texts folded; the callables tell the trace and time of an item."""
    is_long = pc.fill_null(pc.greater_equal(pc.utf8_length(texts), MIN_TEXT), False)
    at = np.flatnonzero(is_long.to_numpy(zero_copy_only=False))
    if not len(at):
        return kinds, texts
    chosen = pa.array(at)
    long_keys, long_texts = keys.take(chosen).to_pylist(), texts.take(chosen).to_pylist()
    folded = [
        bodies.fold(trace_ids(int(i)), times_us(int(i)), key, text)
        for i, key, text in zip(at, long_keys, long_texts, strict=True)
    ]
    new_kinds = pa.array([kind + FOLDED for kind in kinds.take(chosen).to_pylist()])
    return pc.replace_with_mask(kinds, is_long, new_kinds), pc.replace_with_mask(texts, is_long, pa.array(folded))


def attributes_column(
    lists: pa.ListArray, owners: Index, bodies: Bodies, trace_ids: Sequence[str], times_us: Index
) -> pa.ListArray:
    """Returns a repeated KeyValue field as a column of ATTRIBUTES. `owners`: the span that each list belongs to."""
    pairs, rows = explode(lists)
    keys = field(pairs, "key")
    kinds, texts = kinds_and_texts(field(pairs, "value"))
    spans = owners[rows]
    kinds, texts = fold_long(
        bodies, kinds, texts, keys, lambda i: trace_ids[spans[i]], lambda i: int(times_us[spans[i]])
    )
    return nest(lists, [keys, kinds, texts], ATTRIBUTES)
