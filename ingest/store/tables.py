"""A batch of export requests → the rows it adds to each table."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ..errors import FormatError
from .arrow_spans import build_spans
from .bodies import Bodies, BodyRow
from .log_table import LogTable
from .schema import MESSAGES, build_table
from .span_table import SpanTable
from .wal import Frame, FrameKind

logger = logging.getLogger(__name__)

Reject: TypeAlias = Callable[[Frame, FormatError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What a batch adds."""

    tables: dict[str, pa.Table]
    """Table name → rows, some of which the store may have already."""
    next_seq: int


def build_tables(frames: Sequence[Frame], first_seq: int, reject: Reject) -> Tables:
    """Returns the rows of all frames; those that cannot be read are given to `reject`."""
    spans, bodies = _build_spans([f for f in frames if f.kind is FrameKind.TRACES], first_seq, reject)
    logs = LogTable(first_seq, bodies)
    _add(logs, [f for f in frames if f.kind is FrameKind.LOGS], reject)
    # In the order of the file: sorting rows moves references, sorting the table would copy the text.
    messages = sorted(bodies.rows, key=lambda row: (row.trace_id, row.seq))
    tables = {
        "spans": spans,
        "log_records": logs.build(),
        "messages": build_table(MESSAGES, BodyRow._fields, messages, {"body": _texts([row.body for row in messages])}),
    }
    return Tables(tables=tables, next_seq=first_seq + max(table.num_rows for table in tables.values()))


def _texts(encoded: Sequence[bytes]) -> pa.StringArray:
    """Returns UTF-8 texts as a column: large, so that they are neither copied twice nor checked again."""
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _build_spans(frames: Sequence[Frame], first_seq: int, reject: Reject) -> tuple[pa.Table, Bodies]:
    """Returns the rows, and the text that they refer to; quickly if it can be done quickly."""
    bodies = Bodies(first_seq)
    try:
        return build_spans(frames, first_seq, bodies), bodies
    except ValueError as error:  # one bad request spoils a batch for the fast decoder
        logger.debug("requests are decoded one by one: %s", error)
    bodies = Bodies(first_seq)
    table = SpanTable(first_seq, bodies)
    _add(table, frames, reject)
    return table.build(), bodies


def _add(table: SpanTable | LogTable, frames: Sequence[Frame], reject: Reject) -> None:
    for frame in frames:
        try:
            table.add(frame)
        except FormatError as error:
            reject(frame, error)
