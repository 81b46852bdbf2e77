"""WAL → Parquet, exactly once.

Any process may roll; a lock lets one do so at a time. Under the collector a process of its own rolls all the time
(`python -m whyspan.ingest.store.rolling`), short-lived commands roll for themselves.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import xxhash

from ..errors import FormatError
from .durable import try_lock
from .layout import Layout
from .manifest import Commit, DataFile, Manifest
from .parquet import read_keys, write_file
from .schema import TABLES
from .tables import build_tables
from .wal import Frame, Retirement, list_segments, read_segment, retire_segment

logger = logging.getLogger(__name__)

BATCH_BYTES = 32 << 20
"""WAL bytes turned into Parquet at a time; bounds the memory of a roll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Frames to roll, in the order of arrival, and how far that brings each segment."""

    frames: Sequence[Frame]
    rolled: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class RollReport:
    """What one call of `roll` did."""

    frames: int = 0
    rows: int = 0
    duplicates: int = 0
    """Rows left out because the store has them."""
    quarantined: int = 0
    """Frames set aside because they could not be decoded."""
    torn: int = 0
    """Segments whose writer died in the middle of a frame that was never acknowledged."""
    more: bool = field(default=False)
    """A full batch was rolled: more is probably waiting."""


def roll(layout: Layout, manifest: Manifest, *, wait_s: float = 0.0) -> RollReport | None:
    """Rolls one batch; returns None when another process kept the lock for `wait_s`."""
    with try_lock(layout.roll_lock, wait_s=wait_s) as locked:
        return _roll_locked(layout, manifest) if locked else None


def pending_bytes(layout: Layout, manifest: Manifest) -> int:
    """Returns how much WAL is not yet in Parquet."""
    rolled = manifest.rolled()
    return sum(max(0, _size(path) - rolled.get(path.name, 0)) for path in list_segments(layout.wal))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # retired since it was listed
        return 0


def _roll_locked(layout: Layout, manifest: Manifest) -> RollReport:
    report = RollReport()
    rolled = manifest.rolled()
    batch = _read_batch(layout, rolled)
    if batch.frames:
        _commit_batch(layout, manifest, batch, report)
        report.more = sum(len(frame.payload) for frame in batch.frames) >= BATCH_BYTES
    _retire(layout, manifest, {**rolled, **batch.rolled}, report)
    return report


def _read_batch(layout: Layout, rolled: Mapping[str, int]) -> Batch:
    frames: list[Frame] = []
    ends: dict[str, int] = {}
    budget = BATCH_BYTES
    for path in list_segments(layout.wal):
        read = read_segment(path, rolled.get(path.name, 0), budget)
        if read.frames:
            frames += read.frames
            ends[path.name] = read.end.offset
            budget -= sum(len(frame.payload) for frame in read.frames)
        if budget <= 0:
            break
    return Batch(frames=sorted(frames, key=lambda frame: frame.received_ns), rolled=ends)


def _commit_batch(layout: Layout, manifest: Manifest, batch: Batch, report: RollReport) -> None:
    def reject(frame: Frame, error: FormatError) -> None:
        logger.warning("an undecodable request is set aside: %s", error)
        _quarantine(layout, frame)
        report.quarantined += 1

    built = build_tables(batch.frames, manifest.next_seq(), reject)
    files: list[DataFile] = []
    for kind, table in built.tables.items():
        fresh = _without_known(layout, manifest, kind, table)
        if kind != "messages":
            report.duplicates += table.num_rows - fresh.num_rows
            report.rows += fresh.num_rows
        if fresh.num_rows:
            files.append(write_file(layout, kind, fresh, tier="hot"))
    manifest.commit(Commit(files=files, rolled=batch.rolled, next_seq=built.next_seq))
    report.frames = len(batch.frames)


def _quarantine(layout: Layout, frame: Frame) -> None:
    digest = xxhash.xxh3_64_hexdigest(frame.payload)
    name = f"{frame.received_ns:020d}-{frame.kind.name.lower()}-{digest}.bin"
    (layout.quarantine / name).write_bytes(frame.payload)


def _without_known(layout: Layout, manifest: Manifest, kind: str, table: pa.Table) -> pa.Table:
    """Returns the rows whose (trace, key) is new; of two in one batch, the first."""
    pairs = list(zip(table["trace_id"].to_pylist(), table[TABLES[kind].key].to_pylist(), strict=True))
    known: set[tuple[str | None, str]] = set()
    for path, trace_ids in manifest.files_of(kind, {trace_id for trace_id, _ in pairs if trace_id}).items():
        known |= read_keys(layout.root / path, kind, trace_ids)
    keep = []
    for pair in pairs:
        keep.append(pair not in known)
        known.add(pair)
    return table if all(keep) else table.filter(pa.array(keep))


def _retire(layout: Layout, manifest: Manifest, rolled: Mapping[str, int], report: RollReport) -> None:
    """Removes rolled segments without a writer. The file goes first: an offset without a file does no harm."""
    gone = set(rolled) - {path.name for path in list_segments(layout.wal)}
    for path in list_segments(layout.wal):
        outcome = retire_segment(path, rolled.get(path.name, 0))
        if outcome is not Retirement.IN_USE:
            gone.add(path.name)
            report.torn += outcome is Retirement.REMOVED_TORN
    if gone:
        manifest.forget_segments(gone)


def roll_everything(layout: Layout, manifest: Manifest, *, deadline_s: float) -> None:
    """Rolls until nothing is pending or the time is over; another process may be doing the work."""
    deadline = time.monotonic() + deadline_s
    while True:
        report = roll(layout, manifest, wait_s=0.02)
        if report and not report.frames:
            return  # what may be left is a frame being written right now
        if not pending_bytes(layout, manifest) or time.monotonic() > deadline:
            return
