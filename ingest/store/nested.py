"""The columns of spans that are lists of structs: events and links."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from .attributes import AttributesBuilder
from .bodies import Bodies
from .schema import EVENTS, LINKS


class EventsBuilder:
    """The events column."""

    def __init__(self, bodies: Bodies) -> None:
        self._offsets = [0]
        self._times: list[int] = []
        self._names: list[str] = []
        self._dropped: list[int] = []
        self._attributes = AttributesBuilder(bodies)

    def add_row(self, events: Sequence[SpanMessage.Event], trace_id: str, time_us: int) -> None:
        """Appends the events of one span."""
        for event in events:
            self._times.append(event.time_unix_nano)
            self._names.append(event.name)
            self._dropped.append(event.dropped_attributes_count)
            self._attributes.add_row(event.attributes, trace_id, time_us)
        self._offsets.append(len(self._times))

    def build(self) -> pa.Array:
        """Returns the column."""
        columns = {
            "time_ns": self._times,
            "name": self._names,
            "attributes": self._attributes.build(),
            "dropped_attributes_count": self._dropped,
        }
        return _list_column(EVENTS, self._offsets, columns)


class LinksBuilder:
    """The links column."""

    def __init__(self, bodies: Bodies) -> None:
        self._offsets = [0]
        self._rows: list[tuple[str, str, str, int, int]] = []
        self._attributes = AttributesBuilder(bodies)

    def add_row(self, links: Sequence[SpanMessage.Link], trace_id: str, time_us: int) -> None:
        """Appends the links of one span."""
        for link in links:
            ids = link.trace_id.hex(), link.span_id.hex(), link.trace_state
            self._rows.append((*ids, link.dropped_attributes_count, link.flags))
            self._attributes.add_row(link.attributes, trace_id, time_us)
        self._offsets.append(len(self._rows))

    def build(self) -> pa.Array:
        """Returns the column."""
        names = ("trace_id", "span_id", "trace_state", "dropped_attributes_count", "flags")
        columns: dict[str, Any] = {name: [row[at] for row in self._rows] for at, name in enumerate(names)}
        return _list_column(LINKS, self._offsets, {**columns, "attributes": self._attributes.build()})


def _list_column(type: pa.ListType, offsets: Sequence[int], columns: Mapping[str, Any]) -> pa.Array:
    fields = list(type.value_type)
    arrays = [_array(columns[field.name], field.type) for field in fields]
    structs = pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs, type=type)


def _array(values: Any, type: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, type)
