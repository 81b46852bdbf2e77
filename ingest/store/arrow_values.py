"""Columns of protobuf fields, as ptars gives them, in the form of the store: ids as hex, AnyValue as kind and text."""

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
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
_KINDS = (STRING, "bool", "int", "double", "bytes", "array", "kvlist", "none")
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
    columns = [field(values, name) for name in _FIELDS]
    lists = [column.to_pylist() if column.null_count < len(values) else repeat(None) for column in columns]
    return [_first(row) for row in islice(zip(*lists, strict=False), len(values))]


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


def kinds_and_texts(values: pa.StructArray, fold: "Fold") -> tuple[pa.Array, pa.Array]:
    """Returns AnyValues as (kind, text), the columns of ATTRIBUTES, with long texts folded."""
    columns = {name: field(values, name) for name in _FIELDS}
    present = [columns[name].is_valid().to_numpy(zero_copy_only=False) for name in _FIELDS]
    codes = np.select(present, range(len(_FIELDS)), len(_FIELDS)).astype(np.int8)
    kinds = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(_KINDS)).dictionary_decode()
    # Long texts are folded first: what follows copies all text that is left.
    texts = [columns["string_value"]]
    texts += [_rare(columns[name], write) for name, write in _RARE.items() if columns[name].null_count < len(values)]
    for n, column in enumerate(texts):
        texts[n], kinds = fold(column, kinds)
    short = [columns[name].cast(pa.string()) for name in ("bool_value", "int_value")]
    return kinds, pc.coalesce(*texts, *short)


_RARE: dict[str, Callable[[Any], str]] = {
    "double_value": repr,
    "bytes_value": lambda data: base64.b64encode(data).decode("ascii"),
    "array_value": lambda data: to_json_text(_nested("array_value", data)),
    "kvlist_value": lambda data: to_json_text(_nested("kvlist_value", data)),
}


def _rare(column: pa.Array, write: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else write(value) for value in column.to_pylist()], pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Folds the long texts of a column of attributes."""

    bodies: Bodies
    keys: pa.Array
    spans: Index
    """Attribute → its span."""
    trace_ids: Sequence[str]
    times_us: Index

    def __call__(self, texts: pa.Array, kinds: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Returns texts and kinds, both replaced where a text was folded."""
        lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy()
        at = np.flatnonzero(lengths >= MIN_TEXT)
        if not len(at):
            return texts, kinds
        chosen = pa.array(at)
        pairs = zip(at.tolist(), self.keys.take(chosen).to_pylist(), texts.take(chosen).to_pylist(), strict=True)
        folded = pa.array([self._fold(n, key, text) for n, key, text in pairs])
        marked = pc.binary_join_element_wise(kinds.take(chosen), FOLDED, "")
        mask = pa.array(lengths >= MIN_TEXT)
        return pc.replace_with_mask(texts, mask, folded), pc.replace_with_mask(kinds, mask, marked)

    def _fold(self, n: int, key: str, text: str) -> str:
        span = self.spans[n]
        return self.bodies.fold(self.trace_ids[span], int(self.times_us[span]), key, text)


def attributes_column(
    lists: pa.ListArray, owners: Index, bodies: Bodies, trace_ids: Sequence[str], times_us: Index
) -> pa.ListArray:
    """Returns a repeated KeyValue field as a column of ATTRIBUTES. `owners`: the span that each list belongs to."""
    pairs, rows = explode(lists)
    keys = field(pairs, "key")
    fold = Fold(bodies=bodies, keys=keys, spans=owners[rows], trace_ids=trace_ids, times_us=times_us)
    kinds, texts = kinds_and_texts(field(pairs, "value"), fold)
    return nest(lists, [keys, kinds, texts], ATTRIBUTES)
