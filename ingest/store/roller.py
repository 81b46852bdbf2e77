"""WAL → Parquet, exactly once.

Any process may roll; a lock lets one do so at a time. Under the collector a process of its own rolls all the time
(`python -m whyspan.ingest.store.rolling`), short-lived commands roll for themselves.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import FormatError
from .durable import try_lock
from .known_keys import KnownKeys
from .layout import Layout
from .manifest import Commit, DataFile, Manifest
from .parquet import write_file
from .quarantine import set_aside
from .tables import build_tables
from .wal import Frame, Retirement, list_segments, read_segment, retire_segment

logger = logging.getLogger(__name__)

BATCH_BYTES = 16 << 20
"""WAL bytes turned into Parquet at a time; bounds the memory of a roll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Frames to roll, in the order of arrival, and how far that brings each segment."""

    frames: Sequence[Frame]
    rolled: Mapping[str, int]
    damaged: Sequence[bytes]
    """Stretches of the log that cannot be read any more."""


@dataclass(slots=True, kw_only=True)
class RollReport:
    """What rolling did."""

    frames: int = 0
    bytes: int = 0
    rows: int = 0
    duplicates: int = 0
    """Rows left out because the store has them."""
    quarantined: int = 0
    """Frames set aside because they could not be decoded."""
    torn: int = 0
    """Segments whose writer died in the middle of a frame that was never acknowledged."""
    watermark_ns: int = 0
    """When the newest frame was received (Unix ns)."""

    @property
    def more(self) -> bool:
        """A full batch was rolled: more is probably waiting."""
        return self.bytes >= BATCH_BYTES

    def add(self, other: "RollReport") -> None:
        """Adds what another roll did."""
        for name in ("frames", "bytes", "rows", "duplicates", "quarantined", "torn"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.watermark_ns = max(self.watermark_ns, other.watermark_ns)


class Roller:
    """Rolls one store. Keeps in mind what it has written, as long as nobody else writes in between."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self._layout = layout
        self._manifest = manifest
        self._known = KnownKeys(layout, manifest)
        self._last_seq: int | None = None

    def roll(self, *, wait_s: float = 0.0) -> RollReport | None:
        """Rolls one batch; returns None when another process kept the lock for `wait_s`."""
        with try_lock(self._layout.roll_lock, wait_s=wait_s) as locked:
            return self._roll() if locked else None

    def roll_everything(self, *, deadline_s: float) -> None:
        """Rolls until nothing is pending or the time is over; another process may be doing the work."""
        deadline = time.monotonic() + deadline_s
        while True:
            report = self.roll(wait_s=0.02)
            if report and not report.frames:
                return  # what may be left is a frame being written right now
            if not pending_bytes(self._layout, self._manifest) or time.monotonic() > deadline:
                return

    def _roll(self) -> RollReport:
        report = RollReport()
        rolled = self._manifest.rolled()
        batch = _read_batch(self._layout, rolled)
        for stretch in batch.damaged:
            logger.error("%d bytes of the log are damaged and set aside", len(stretch))
            set_aside(self._layout.quarantine, "damaged", stretch)
        report.quarantined += len(batch.damaged)
        if batch.frames:
            self._commit(batch, report)
        _retire(self._layout, self._manifest, {**rolled, **batch.rolled}, report)
        return report

    def _commit(self, batch: Batch, report: RollReport) -> None:
        seq = self._manifest.next_seq()
        if seq != self._last_seq:
            self._known.forget()
        self._last_seq = None  # until the commit, what `_known` remembers is not true
        built = build_tables(batch.frames, seq, partial(self._reject, report))
        files: list[DataFile] = []
        for kind, table in built.tables.items():
            fresh = self._known.fresh(kind, table)
            if kind != "messages":
                report.duplicates += table.num_rows - fresh.num_rows
                report.rows += fresh.num_rows
            if fresh.num_rows:
                files.append(write_file(self._layout, kind, fresh, tier="hot"))
        # Never the same number again, even for a batch without rows: it tells this roller's writes from others'.
        next_seq = built.next_seq + 1
        self._manifest.commit(Commit(files=files, rolled=batch.rolled, next_seq=next_seq))
        self._last_seq = next_seq
        self._known.trim()
        report.frames = len(batch.frames)
        report.bytes = sum(len(frame.payload) for frame in batch.frames)
        report.watermark_ns = batch.frames[-1].received_ns

    def _reject(self, report: RollReport, frame: Frame, error: FormatError) -> None:
        logger.warning("an undecodable request is set aside: %s", error)
        set_aside(self._layout.quarantine, frame.kind.name.lower(), frame.payload)
        report.quarantined += 1


def pending_bytes(layout: Layout, manifest: Manifest) -> int:
    """Returns how much WAL is not yet in Parquet."""
    rolled = manifest.rolled()
    return sum(max(0, _size(path) - rolled.get(path.name, 0)) for path in list_segments(layout.wal))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # retired since it was listed
        return 0


def _read_batch(layout: Layout, rolled: Mapping[str, int]) -> Batch:
    frames: list[Frame] = []
    ends: dict[str, int] = {}
    damaged: list[bytes] = []
    budget = BATCH_BYTES
    for path in list_segments(layout.wal):
        read = read_segment(path, rolled.get(path.name, 0), budget)
        if read.frames:
            frames += read.frames
            damaged += read.damaged
            ends[path.name] = read.end.offset
            budget -= sum(len(frame.payload) for frame in read.frames)
        if budget <= 0:
            break
    return Batch(frames=sorted(frames, key=lambda frame: frame.received_ns), rolled=ends, damaged=damaged)


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
