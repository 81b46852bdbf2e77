"""Columns of protobuf fields, as ptars gives them, in the form of the store: ids as hex, AnyValue as kind and text."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
_NESTED = _FIELDS[-2:]


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


def hex_text(ids: pa.Array) -> pa.Array:
    """Returns binary ids as lowercase hex."""
    if not len(ids):
        return pa.array([], pa.string())
    offsets = _offsets(ids)
    data = np.frombuffer(ids.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    ends = 2 * (offsets - offsets[0])
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(ends), pa.py_buffer(_HEX[data]))


def parent_text(ids: pa.Array) -> pa.Array:
    """Returns parent span ids as hex, null where there is none: empty, or all zeros."""
    text = hex_text(ids)
    return pc.if_else(pc.equal(pc.ascii_ltrim(text, "0"), ""), pa.scalar(None, pa.string()), text)


def _offsets(values: pa.Array) -> "np.ndarray[Any, np.dtype[np.int32]]":
    """Returns where each text or binary value begins in the data buffer, and where the last one ends."""
    return np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]


def python_values(values: pa.StructArray) -> list[AnyValue]:
    """Returns AnyValues as Python has them."""
    found: list[AnyValue] = [None] * len(values)
    for name in reversed(_FIELDS):  # a broken sender may set several: the first one counts
        column = field(values, name)
        if column.null_count == len(values):
            continue
        items = _nested_values(name, column) if name in _NESTED else column.to_pylist()
        for n, value in enumerate(items):
            if value is not None:
                found[n] = value
    return found


def _nested_values(name: str, column: pa.Array) -> list[AnyValue]:
    """Returns arrays or kvlists as Python has them; few differ."""
    encoded = column.dictionary_encode()
    values = [_nested(name, value) for value in encoded.dictionary.to_pylist()]
    return [None if code is None else values[code] for code in encoded.indices.to_pylist()]


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
    encoded = column.dictionary_encode()
    return pa.array(map(write, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


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
        offsets = _offsets(texts) if len(texts) else np.zeros(1, np.int32)
        is_long = np.diff(offsets) >= MIN_TEXT
        if not is_long.any():
            return texts, kinds
        at = np.flatnonzero(is_long)
        chosen = pa.array(at)
        data = memoryview(texts.buffers()[2])
        keys = self.keys.take(chosen).to_pylist()
        places = zip(at.tolist(), keys, offsets[at].tolist(), offsets[at + 1].tolist(), strict=True)
        folded = pa.array([self._fold(n, key, bytes(data[begin:end])) for n, key, begin, end in places])
        marked = pc.binary_join_element_wise(kinds.take(chosen), FOLDED, "")
        mask = pa.array(is_long)
        return pc.replace_with_mask(texts, mask, folded), pc.replace_with_mask(kinds, mask, marked)

    def _fold(self, n: int, key: str, text: bytes) -> str:
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
