"""A batch of export requests → the rows it adds to each table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ..errors import FormatError
from .bodies import Bodies, BodyRow
from .log_table import LogTable
from .schema import MESSAGES, build_table
from .span_table import SpanTable
from .wal import Frame, FrameKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What a batch adds."""

    tables: dict[str, pa.Table]
    """Table name → rows, some of which the store may have already."""
    next_seq: int


def build_tables(frames: Sequence[Frame], first_seq: int, reject: Callable[[Frame, FormatError], None]) -> Tables:
    """Returns the rows of all frames; those that cannot be read are given to `reject`."""
    bodies = Bodies(first_seq)
    spans, logs = SpanTable(first_seq, bodies), LogTable(first_seq, bodies)
    for frame in frames:
        try:
            (spans if frame.kind is FrameKind.TRACES else logs).add(frame)
        except FormatError as error:
            reject(frame, error)
    tables = {
        "spans": spans.build(),
        "log_records": logs.build(),
        "messages": build_table(MESSAGES, BodyRow._fields, bodies.rows, {}),
    }
    return Tables(tables=tables, next_seq=first_seq + max(table.num_rows for table in tables.values()))
