"""Trace export requests → rows of `spans`, in columns: the fast twin of `span_table`, with the same result.

ptars (Rust) decodes a batch of requests into Arrow; what is left to Python is the promotion of GenAI spans, the folding
of long texts, and values that are seldom. It wants everything in a batch to be right: when it refuses, `tables` takes
the batch through `span_table`, request by request.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import ptars
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import descriptor_pb2, descriptor_pool
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ..spans import AnyValue
from .arrow_values import (
    Index,
    attributes_column,
    explode,
    field,
    hex_text,
    nest,
    parent_text,
    python_values,
)
from .bodies import Bodies
from .promotion import NOTHING, Promoted, is_long_input, is_relevant, promote
from .schema import EVENTS, LINKS, SPANS
from .sender import Sender
from .span_table import promoted_columns
from .wal import Frame

_BYTES = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES


def build_spans(frames: Sequence[Frame], first_seq: int, bodies: Bodies) -> pa.Table:
    """Returns the rows of all frames; raises ValueError when any of them cannot be decoded."""
    batch = _handler().list_to_record_batch([frame.payload for frame in frames])
    groups, of_frame = explode(batch.column(0))
    scope_groups, of_group = explode(field(groups, "scope_spans"))
    spans, of_scope = explode(field(scope_groups, "spans"))
    senders = _senders(groups, scope_groups, of_group)
    trace_ids = hex_text(field(spans, "trace_id"), 16)
    started_us = field(spans, "start_time_unix_nano").to_numpy() // 1000
    every = np.arange(len(spans))
    traces = trace_ids.to_pylist()
    attributes = field(spans, "attributes")
    events, event_owners = explode(field(spans, "events"))
    promoted = _promote(spans, events, event_owners, [senders[i].found for i in of_scope])
    columns: dict[str, Any] = {
        "trace_id": trace_ids,
        "span_id": hex_text(field(spans, "span_id"), 8),
        "parent_span_id": parent_text(field(spans, "parent_span_id")),
        "started": started_us.astype(np.int64),
        "start_ns": field(spans, "start_time_unix_nano"),
        "end_ns": field(spans, "end_time_unix_nano"),
        "status_code": pc.fill_null(field(field(spans, "status"), "code"), 0),
        "status_message": pc.fill_null(field(field(spans, "status"), "message"), ""),
        **{name: field(spans, name) for name in _PLAIN},
        **{name: _repeated([getattr(s, name) for s in senders], of_scope) for name in _OF_SENDER},
        **promoted_columns(promoted),
        "attributes": attributes_column(attributes, every, bodies, traces, started_us),
        "events": _events(field(spans, "events"), bodies, traces, started_us),
        "links": _links(field(spans, "links"), bodies, traces, started_us),
        "seq": first_seq + every,
        "received_ns": np.array([f.received_ns for f in frames], np.uint64)[of_frame[of_group[of_scope]]],
    }
    columns["error"] = _errors(columns)
    return pa.Table.from_arrays([_column(columns[f.name], f.type) for f in SPANS], schema=SPANS)


_PLAIN = (
    "name", "kind", "trace_state", "flags", "dropped_attributes_count", "dropped_events_count", "dropped_links_count",
)  # fmt: skip
_OF_SENDER = ("service", "scope_name", "resource", "scope")


@cache
def _handler() -> Any:
    """Returns a decoder whose arrays and kvlists stay encoded: OTLP's own are recursive, which Arrow cannot express."""
    pool = descriptor_pool.DescriptorPool()
    _add_file(pool, ExportTraceServiceRequest.DESCRIPTOR.file)
    descriptor = pool.FindMessageTypeByName(ExportTraceServiceRequest.DESCRIPTOR.full_name)
    return ptars.HandlerPool([descriptor.file]).get_for_message(descriptor)


def _add_file(pool: descriptor_pool.DescriptorPool, file: Any) -> None:
    for dependency in file.dependencies:
        _add_file(pool, dependency)
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    for message in proto.message_type:
        for member in message.field if message.name == "AnyValue" else ():
            if member.name in ("array_value", "kvlist_value"):
                member.type = _BYTES
                member.ClearField("type_name")
    pool.AddSerializedFile(proto.SerializeToString())


def _column(values: Any, type: pa.DataType) -> pa.Array:
    return values.cast(type) if isinstance(values, pa.Array) else pa.array(values, type)


def _repeated(values: Sequence[str | None], at: Index) -> pa.Array:
    """Returns values by index; few differ."""
    return pa.DictionaryArray.from_arrays(pa.array(at, pa.int32()), pa.array(values, pa.string())).dictionary_decode()


def _senders(groups: pa.Array, scope_groups: pa.Array, of_group: Index) -> list[Sender]:
    """Returns the sender of each scope group."""
    resource, scope = field(groups, "resource"), field(scope_groups, "scope")
    resources = [
        (_attributes(attributes), dropped or 0, url)
        for attributes, dropped, url in zip(
            _lists(field(resource, "attributes")), field(resource, "dropped_attributes_count").to_pylist(),
            field(groups, "schema_url").to_pylist(), strict=True,
        )
    ]  # fmt: skip
    scopes = zip(
        field(scope, "name").to_pylist(), field(scope, "version").to_pylist(), _lists(field(scope, "attributes")),
        field(scope, "dropped_attributes_count").to_pylist(), field(scope_groups, "schema_url").to_pylist(),
        strict=True,
    )  # fmt: skip
    return [
        Sender(
            resource_attributes=resources[group][0],
            resource_dropped=resources[group][1],
            resource_url=resources[group][2],
            scope_name=name or "",
            scope_version=version or "",
            scope_attributes=_attributes(attributes),
            scope_dropped=dropped or 0,
            scope_url=url,
        )
        for group, (name, version, attributes, dropped, url) in zip(of_group, scopes, strict=True)
    ]


def _lists(lists: pa.ListArray) -> list[pa.StructArray | None]:
    return [item.values if item.is_valid else None for item in lists]


def _attributes(pairs: pa.StructArray | None) -> dict[str, AnyValue]:
    if pairs is None:
        return {}
    return dict(zip(field(pairs, "key").to_pylist(), python_values(field(pairs, "value")), strict=True))


def _promote(
    spans: pa.Array, events: pa.Array, event_owners: Index, given: Sequence[Mapping[str, AnyValue]]
) -> list[Promoted]:
    """Returns what is promoted of each span. `given`: what its resource says."""
    found: dict[int, dict[str, AnyValue]] = {n: dict(values) for n, values in enumerate(given) if values}
    pairs, rows = explode(field(spans, "attributes"))
    for at, key, value in _relevant(pairs):
        found.setdefault(int(rows[at]), {})[key] = value
    if len(events):
        names = field(events, "name").to_pylist()
        pairs, rows = explode(field(events, "attributes"))
        prefixes = [("gen_ai.choice." if names[row] == "gen_ai.choice" else "") for row in rows]
        for at, key, value in _relevant(pairs, prefixes):
            found.setdefault(int(event_owners[rows[at]]), {}).setdefault(key, value)
    return [promote(found[n]) if n in found else NOTHING for n in range(len(spans))]


def _relevant(pairs: pa.Array, prefixes: Sequence[str] | None = None) -> list[tuple[int, str, AnyValue]]:
    """Returns (index, key, value) of the attributes that promotion wants to see."""
    encoded = field(pairs, "key").dictionary_encode()
    keys, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    if prefixes is None:
        wanted = np.array([is_relevant(key) for key in keys], bool)
        at: Sequence[int] = np.flatnonzero(wanted[codes]).tolist() if keys else []
        chosen = [keys[codes[i]] for i in at]
    else:
        named = [(i, prefix + keys[code]) for i, (prefix, code) in enumerate(zip(prefixes, codes, strict=True))]
        relevant = [(i, key) for i, key in named if is_relevant(key)]
        at, chosen = [i for i, _ in relevant], [key for _, key in relevant]
    valued = [(i, key) for i, key in zip(at, chosen, strict=True) if not is_long_input(key)]
    values = python_values(field(pairs, "value").take(pa.array([i for i, _ in valued], pa.int64())))
    known = {i: value for (i, _), value in zip(valued, values, strict=True)}
    return [(i, key, known.get(i)) for i, key in zip(at, chosen, strict=True)]


def _errors(columns: Mapping[str, Any]) -> pa.Array:
    """Returns the error type, else what the status of a failed span says."""
    failed = pc.equal(columns["status_code"].cast(pa.int32()), 2)
    message = pc.if_else(pc.equal(columns["status_message"], ""), "error", columns["status_message"])
    types = pa.array(columns["error"], pa.string())
    return pc.coalesce(types, pc.if_else(failed, message, pa.scalar(None, pa.string())))


def _events(lists: pa.ListArray, bodies: Bodies, traces: Sequence[str], times_us: Index) -> pa.ListArray:
    events, owners = explode(lists)
    attributes = attributes_column(field(events, "attributes"), owners, bodies, traces, times_us)
    columns = [field(events, "time_unix_nano"), field(events, "name"), attributes]
    return nest(lists, [*columns, field(events, "dropped_attributes_count")], EVENTS)


def _links(lists: pa.ListArray, bodies: Bodies, traces: Sequence[str], times_us: Index) -> pa.ListArray:
    links, owners = explode(lists)
    ids = [hex_text(field(links, "trace_id"), 16), hex_text(field(links, "span_id"), 8)]
    attributes = attributes_column(field(links, "attributes"), owners, bodies, traces, times_us)
    rest = [field(links, name) for name in ("dropped_attributes_count", "flags")]
    return nest(lists, [*ids, field(links, "trace_state"), attributes, *rest], LINKS)
