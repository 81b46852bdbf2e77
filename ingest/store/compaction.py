"""Many small files → few large ones: files are merged as they pile up, and what a day leaves behind at its end.

Small files are what makes look-ups slow (ten times, for 1,500 of them). Merging costs each row about one rewrite for
every factor of eight in size. The old files stay for a grace time, for those who are reading them.
"""

import logging
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from .durable import try_lock
from .layout import Layout
from .manifest import DataFile, LiveFile, Manifest
from .merging import merged
from .parquet import FileWriter
from .schema import TABLES
from .settling import Nesting

logger = logging.getLogger(__name__)

FAN = 8
"""So many files of one size class are merged into one of the next."""
_CLASS_BYTES = 1 << 18
MAX_BYTES = 256 << 20
"""A file is not merged any more once it has this size."""
MAX_FILES = 2 * FAN
"""So many files are merged at once: each has a part of itself in memory."""
GRACE_NS = 600 * 10**9
"""How long replaced files stay on disk."""
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Files to be merged into one."""

    kind: str
    tier: str
    files: Sequence[LiveFile]


def plan(files: Iterable[LiveFile], now_us: int) -> list[Merge]:
    """Returns the merges that are due: eight files of one size class, or else what is left of a day that is over.

    Files stay apart from much larger ones, so that a late span does not cause a whole day to be written again.
    """
    today_us = now_us - now_us % _DAY_US
    merges: list[Merge] = []
    for kind in TABLES:
        own = [file for file in files if file.kind == kind and file.tier != "schema"]
        small = [file for file in own if file.bytes < MAX_BYTES]
        old = [file for file in small if file.tier != "day" and _newest(file) < today_us]
        merges += _by_size(kind, small) or [
            *_by_day(kind, old),
            *_unsettled(kind, [file for file in own if file not in old]),
        ]
    return merges


def _newest(file: LiveFile) -> int:
    return file.max_us or 0


def _by_size(kind: str, files: Iterable[LiveFile]) -> list[Merge]:
    classes: dict[tuple[bool, int], list[LiveFile]] = {}
    for file in files:
        level = (file.bytes // _CLASS_BYTES).bit_length() // 3  # a class spans a factor of eight
        # Hot files shrink when they are merged: beside others of their size they would be merged again and again.
        classes.setdefault((file.tier == "hot", level), []).append(file)
    groups = [group for members in classes.values() if len(members) >= FAN for group in _bounded(members)]
    return [Merge(kind=kind, tier=_merged_tier(group), files=group) for group in groups if len(group) > 1]


def _merged_tier(files: Iterable[LiveFile]) -> str:
    return "day" if all(file.tier == "day" for file in files) else "hour"


def _by_day(kind: str, files: Iterable[LiveFile]) -> list[Merge]:
    days: dict[int, list[LiveFile]] = {}
    for file in files:
        days.setdefault(_newest(file) // _DAY_US, []).append(file)
    return [Merge(kind=kind, tier="day", files=group) for day in days.values() for group in _bounded(day)]


def _unsettled(kind: str, files: Iterable[LiveFile]) -> list[Merge]:
    """Returns what settles the spans that an older whyspan has merged."""
    left = [file for file in files if kind == "spans" and file.tier != "hot" and not file.is_settled]
    return [Merge(kind=kind, tier=file.tier, files=[file]) for file in left]


def _bounded(files: Sequence[LiveFile]) -> list[list[LiveFile]]:
    """Splits files so that no group passes MAX_BYTES by more than one file, nor MAX_FILES."""
    groups: list[list[LiveFile]] = [[]]
    for file in files:
        if sum(f.bytes for f in groups[-1]) >= MAX_BYTES or len(groups[-1]) == MAX_FILES:
            groups.append([])
        groups[-1].append(file)
    return groups


def compact(
    layout: Layout, manifest: Manifest, *, grace_ns: int = GRACE_NS, stopping: threading.Event | None = None
) -> int:
    """Does the merges that are due and deletes what nobody reads any more; returns the number of merges.

    Begins no merge once `stopping` is set. Does nothing when another process is compacting.
    """
    with try_lock(layout.compact_lock) as locked:
        if not locked:
            return 0
        done = 0
        failed: set[str] = set()
        while merges := plan(_without(manifest.live_files(), failed), time.time_ns() // 1000):
            for merge in merges:
                if stopping is not None and stopping.is_set():
                    return done
                try:
                    _merge(layout, manifest, merge)
                    done += 1
                except (duckdb.Error, pa.ArrowException, OSError) as error:
                    # Files that stay apart cost readers time; one that cannot be read must not keep the others apart.
                    logger.warning("%d %s files are left unmerged: %s", len(merge.files), merge.kind, error)
                    failed |= {file.path for file in merge.files}
        _delete_dropped(layout, manifest, grace_ns)
        _delete_orphans(layout, manifest, grace_ns)
        return done


def _without(files: Iterable[LiveFile], paths: Collection[str]) -> list[LiveFile]:
    return [file for file in files if file.path not in paths]


def _merge(layout: Layout, manifest: Manifest, merge: Merge) -> None:
    new = rewrite(layout, merge.kind, [file.path for file in merge.files], tier=merge.tier)
    manifest.replace([file.path for file in merge.files], [new] if new else [])
    pa.default_memory_pool().release_unused()  # the next batch or merge needs other sizes
    logger.debug("merged %d %s files", len(merge.files), merge.kind)


def rewrite(layout: Layout, kind: str, paths: Sequence[str], *, tier: str, condition: str = "") -> DataFile | None:
    """Returns a new durable file with the rows of others, sorted; None when no row meets the (SQL) condition.

    Memory is bounded whatever the size of the files, but for ids of model calls; raises duckdb.OutOfMemoryException
    when those are too many.
    """
    files = [layout.root / path for path in paths]
    nesting = Nesting(layout, files, condition) if kind == "spans" else None
    writer = FileWriter(layout, kind, tier)
    for rows in merged(files, kind):
        kept = _kept(rows, condition) if condition else rows
        if kept.num_rows:
            writer.append(nesting.fill(kept) if nesting else kept)
    return writer.finish(is_settled=True) if writer.rows else None


def _kept(rows: pa.Table, condition: str) -> pa.Table:
    with duckdb.connect(":memory:") as db:
        return rows.filter(db.from_arrow(rows).project(condition).to_arrow_table().column(0))


def _delete_dropped(layout: Layout, manifest: Manifest, grace_ns: int) -> None:
    old = [path for path, dropped_ns in manifest.dropped().items() if dropped_ns < time.time_ns() - grace_ns]
    for path in old:
        (layout.root / path).unlink(missing_ok=True)
    if old:
        manifest.forget_dropped(old)


def _delete_orphans(layout: Layout, manifest: Manifest, grace_ns: int) -> None:
    """Deletes files that a killed process wrote and never committed."""
    on_disk = {str(path.relative_to(layout.root)): path for path in layout.data.iterdir()}
    known = {file.path for file in manifest.live_files()} | manifest.dropped().keys()
    for path in on_disk.keys() - known:
        if on_disk[path].stat().st_mtime_ns < time.time_ns() - max(grace_ns, 60 * 10**9):
            on_disk[path].unlink(missing_ok=True)
