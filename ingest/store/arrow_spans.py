"""Trace export requests → rows of `spans`, in columns: the fast twin of `span_table`, with the same result.

ptars (Rust) decodes a batch of requests into Arrow; what is left to Python is the promotion of GenAI spans, the folding
of long texts, and values that are seldom. It wants everything in a batch to be right: when it refuses, `tables` takes
the batch through `span_table`, request by request.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from .wal import Frame

_BYTES = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES


def build_spans(frames: Sequence[Frame], first_seq: int, bodies: Bodies) -> pa.Table:
    """Returns the rows of all frames; raises ValueError when any of them cannot be decoded."""
    batch = _handler().list_to_record_batch([frame.payload for frame in frames])
    groups, of_frame = explode(batch.column(0))
    scope_groups, of_group = explode(field(groups, "scope_spans"))
    spans, of_scope = explode(field(scope_groups, "spans"))
    senders = _senders(groups, scope_groups, of_group)
    trace_ids = hex_text(field(spans, "trace_id"))
    started_us = field(spans, "start_time_unix_nano").to_numpy() // 1000
    every = np.arange(len(spans))
    traces = trace_ids.to_pylist()
    attributes = field(spans, "attributes")
    columns: dict[str, Any] = {
        "trace_id": trace_ids,
        "span_id": hex_text(field(spans, "span_id")),
        "parent_span_id": parent_text(field(spans, "parent_span_id")),
        "started": started_us.astype(np.int64),
        "start_ns": field(spans, "start_time_unix_nano"),
        "end_ns": field(spans, "end_time_unix_nano"),
        "status_code": pc.fill_null(field(field(spans, "status"), "code"), 0),
        "status_message": pc.fill_null(field(field(spans, "status"), "message"), ""),
        **{name: field(spans, name) for name in _PLAIN},
        **{name: _repeated([getattr(s, name) for s in senders], of_scope) for name in _OF_SENDER},
        **_promoted_columns(_find(spans, senders, of_scope), len(spans)),
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
    resources = list(
        zip(_attributes(resource), _counts(resource), field(groups, "schema_url").to_pylist(), strict=True)
    )
    scopes = zip(
        field(scope, "name").to_pylist(), field(scope, "version").to_pylist(), _attributes(scope), _counts(scope),
        field(scope_groups, "schema_url").to_pylist(), strict=True,
    )  # fmt: skip
    return [
        Sender(
            resource_attributes=resources[group][0],
            resource_dropped=resources[group][1],
            resource_url=resources[group][2],
            scope_name=name or "",
            scope_version=version or "",
            scope_attributes=attributes,
            scope_dropped=dropped,
            scope_url=url,
        )
        for group, (name, version, attributes, dropped, url) in zip(of_group, scopes, strict=True)
    ]


def _counts(entity: pa.StructArray) -> list[int]:
    return [count or 0 for count in field(entity, "dropped_attributes_count").to_pylist()]


def _attributes(entities: pa.StructArray) -> list[dict[str, AnyValue]]:
    """Returns the attributes of resources or scopes; none where there is no such message."""
    pairs, rows = explode(field(entities, "attributes"))
    attributes: list[dict[str, AnyValue]] = [{} for _ in range(len(entities))]
    items = zip(rows.tolist(), field(pairs, "key").to_pylist(), python_values(field(pairs, "value")), strict=True)
    for row, key, value in items:
        attributes[row][key] = value
    return attributes


def _find(spans: pa.Array, senders: Sequence[Sender], of_scope: Index) -> dict[int, dict[str, AnyValue]]:
    """Returns span → what promotion wants to see of it, its resource and its events, where there is anything."""
    found: dict[int, dict[str, AnyValue]] = {}
    if any(sender.found for sender in senders):
        found = {n: dict(senders[i].found) for n, i in enumerate(of_scope) if senders[i].found}
    pairs, rows = explode(field(spans, "attributes"))
    for row, key, value in _relevant(pairs, rows):
        found.setdefault(row, {})[key] = value
    events, owners = explode(field(spans, "events"))
    if not len(events):
        return found
    pairs, rows = explode(field(events, "attributes"))
    choices = pc.equal(field(events, "name"), "gen_ai.choice")
    for prefix, chosen in (("", pc.invert(choices)), ("gen_ai.choice.", choices)):
        of_these = chosen.take(pa.array(rows))
        at = np.flatnonzero(of_these.to_numpy(zero_copy_only=False))
        for row, key, value in _relevant(pairs.take(pa.array(at)), owners[rows[at]], prefix):
            found.setdefault(row, {}).setdefault(key, value)
    return found


def _promoted_columns(found: Mapping[int, Mapping[str, AnyValue]], spans: int) -> dict[str, pa.Array]:
    """Returns the promoted columns; `error` is what the attributes alone say."""
    promoted = [*map(promote, found.values()), NOTHING]
    columns: dict[str, Sequence[Any]] = dict(zip(Promoted._fields, zip(*promoted, strict=True), strict=True))
    calls = columns.pop("tool_calls")
    columns |= {
        "tool_names": [list(dict.fromkeys(call.name for call in made)) for made in calls],
        "tool_calls": [[call._asdict() for call in made] for made in calls],
        "error": columns.pop("error_type"),
    }
    at = np.full(spans, len(found))  # most spans are no model calls, and share the row that says nothing
    at[list(found)] = np.arange(len(found))
    indices = pa.array(at)
    return {name: pa.array(values, SPANS.field(name).type).take(indices) for name, values in columns.items()}


def _relevant(pairs: pa.Array, rows: Index, prefix: str = "") -> Iterator[tuple[int, str, AnyValue]]:
    """Yields (row, key, value) of the attributes that promotion wants to see; no values of long inputs."""
    encoded = field(pairs, "key").dictionary_encode()
    keys = [prefix + key for key in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy()
    if not keys:
        return
    at = np.flatnonzero(np.array([is_relevant(key) for key in keys])[codes])
    is_valued = ~np.array([is_long_input(key) for key in keys])[codes[at]]
    values = iter(python_values(field(pairs, "value").take(pa.array(at[is_valued]))))
    for row, code, has_value in zip(rows[at].tolist(), codes[at].tolist(), is_valued.tolist(), strict=True):
        yield row, keys[code], next(values) if has_value else None


def _errors(columns: Mapping[str, Any]) -> pa.Array:
    """Returns the error type, else what the status of a failed span says."""
    failed = pc.equal(columns["status_code"].cast(pa.int32()), 2)
    message = pc.if_else(pc.equal(columns["status_message"], ""), "error", columns["status_message"])
    return pc.coalesce(columns["error"], pc.if_else(failed, message, pa.scalar(None, pa.string())))


def _events(lists: pa.ListArray, bodies: Bodies, traces: Sequence[str], times_us: Index) -> pa.ListArray:
    events, owners = explode(lists)
    attributes = attributes_column(field(events, "attributes"), owners, bodies, traces, times_us)
    columns = [field(events, "time_unix_nano"), field(events, "name"), attributes]
    return nest(lists, [*columns, field(events, "dropped_attributes_count")], EVENTS)


def _links(lists: pa.ListArray, bodies: Bodies, traces: Sequence[str], times_us: Index) -> pa.ListArray:
    links, owners = explode(lists)
    ids = [hex_text(field(links, "trace_id")), hex_text(field(links, "span_id"))]
    attributes = attributes_column(field(links, "attributes"), owners, bodies, traces, times_us)
    rest = [field(links, name) for name in ("dropped_attributes_count", "flags")]
    return nest(lists, [*ids, field(links, "trace_state"), attributes, *rest], LINKS)
