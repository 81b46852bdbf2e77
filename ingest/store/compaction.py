"""Many small files → few large ones: files are merged as they pile up, and what a day leaves behind at its end.

Small files are what makes look-ups slow (ten times, for 1,500 of them). Merging costs each row about one rewrite for
every factor of eight in size. The old files stay for a grace time, for those who are reading them.
"""

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow.parquet as pq

from .durable import publish, try_lock
from .layout import Layout, schema_name
from .manifest import DataFile, LiveFile, Manifest
from .nesting import with_nesting
from .parquet import describe, new_name
from .quoting import parquet, quote
from .schema import TABLES

logger = logging.getLogger(__name__)

FAN = 8
"""So many files of one size class are merged into one of the next."""
_CLASS_BYTES = 1 << 18
MAX_BYTES = 256 << 20
"""A file is not merged any more once it has this size."""
GRACE_NS = 600 * 10**9
"""How long replaced files stay on disk."""
MEMORY_LIMITS = ("128MB", "512MB", "2GB")
"""What a merge may use, tried in turn: rows of long text are sorted in memory, and seldom take more than the first."""
_GROUP_BYTES = 4 << 20
"""Compressed bytes per row group: looking up one trace reads whole row groups."""
_LEVELS = {"hot": 1, "hour": 3, "day": 9}
"""zstd level by tier: what is written once for good is worth more work."""
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Files to be merged into one."""

    kind: str
    tier: str
    files: Sequence[LiveFile]


def plan(files: Iterable[LiveFile], now_us: int) -> list[Merge]:
    """Returns the merges that are due: eight files of one size class, or what is left of a day that is over.

    Files stay apart from much larger ones, so that a late span does not cause a whole day to be written again.
    """
    today_us = now_us - now_us % _DAY_US
    merges: list[Merge] = []
    for kind in TABLES:
        own = [file for file in files if file.kind == kind and file.tier != "schema" and file.bytes < MAX_BYTES]
        old = [f for f in own if f.tier != "day" and _newest(f) < today_us]
        groups = _by_size(own) or _by_day(old) or [[f] for f in files if f.kind == kind and _is_unsettled(f, today_us)]
        for group in groups:
            tier = "day" if all(_newest(file) < today_us for file in group) else "hour"
            merges.append(Merge(kind=kind, tier=tier, files=group))
    return merges


def _is_unsettled(file: LiveFile, today_us: int) -> bool:
    """Tells a file of spans that no merge would settle: it is alone in its day, or was merged by an older whyspan."""
    is_left = file.tier != "hot" or _newest(file) < today_us
    return file.kind == "spans" and file.tier != "schema" and is_left and not file.is_settled


def _newest(file: LiveFile) -> int:
    return file.max_us or 0


def _by_size(files: Iterable[LiveFile]) -> list[list[LiveFile]]:
    classes: dict[int, list[LiveFile]] = {}
    for file in files:
        level = (file.bytes // _CLASS_BYTES).bit_length() // 3  # a class spans a factor of eight
        classes.setdefault(level, []).append(file)
    return [group for members in classes.values() if len(members) >= FAN for group in _bounded(members)]


def _by_day(files: Iterable[LiveFile]) -> list[list[LiveFile]]:
    days: dict[int, list[LiveFile]] = {}
    for file in files:
        days.setdefault(_newest(file) // _DAY_US, []).append(file)
    return [group for day in days.values() for group in _bounded(day)]


def _bounded(files: Sequence[LiveFile]) -> list[list[LiveFile]]:
    """Splits files so that no group passes MAX_BYTES by more than one file; a file alone needs no merge."""
    groups: list[list[LiveFile]] = [[]]
    for file in files:
        if sum(f.bytes for f in groups[-1]) >= MAX_BYTES:
            groups.append([])
        groups[-1].append(file)
    return [group for group in groups if len(group) > 1]


def compact(layout: Layout, manifest: Manifest, *, grace_ns: int = GRACE_NS) -> int:
    """Does the merges that are due and deletes what nobody reads any more; returns the number of merges.

    Does nothing when another process is compacting.
    """
    with try_lock(layout.compact_lock) as locked:
        if not locked:
            return 0
        done = 0
        too_large: set[str] = set()
        while merges := plan(_without(manifest.live_files(), too_large), time.time_ns() // 1000):
            for merge in merges:
                try:
                    _merge(layout, manifest, merge)
                    done += 1
                except duckdb.OutOfMemoryException as error:
                    # Files that stay apart cost readers time; a merge that ends the process would cost data.
                    logger.warning("%d %s files are left unmerged: %s", len(merge.files), merge.kind, error)
                    too_large |= {file.path for file in merge.files}
        _delete_dropped(layout, manifest, grace_ns)
        _delete_orphans(layout, manifest, grace_ns)
        return done


def _without(files: Iterable[LiveFile], paths: Collection[str]) -> list[LiveFile]:
    return [file for file in files if file.path not in paths]


def _merge(layout: Layout, manifest: Manifest, merge: Merge) -> None:
    new = rewrite(layout, merge.kind, [file.path for file in merge.files], tier=merge.tier)
    manifest.replace([file.path for file in merge.files], [new] if new else [])
    logger.debug("merged %d %s files", len(merge.files), merge.kind)


def rewrite(layout: Layout, kind: str, paths: Sequence[str], *, tier: str, condition: str = "true") -> DataFile | None:
    """Returns a new durable file with the rows of others, sorted; None when no row meets the condition.

    DuckDB sorts within a memory limit and spills to disk beyond it. Raises duckdb.OutOfMemoryException when the rows
    do not fit into the largest limit.
    """
    final = layout.data / new_name(kind, tier)
    temporary = layout.data / f".{final.name}.tmp"
    # The file without rows has all columns: what is written has them too.
    source = parquet([layout.data / schema_name(kind), *(layout.root / path for path in paths)])
    rows = f"(SELECT * FROM {source} WHERE {condition})"
    settled = f"({with_nesting(rows)})" if kind == "spans" else rows
    query = (
        f"COPY (SELECT * FROM {settled} "
        f"ORDER BY trace_id, {TABLES[kind].order}) TO {quote(temporary)} "
        f"(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {_LEVELS[tier]}, "
        f"ROW_GROUP_SIZE {_rows_per_group(layout, paths)})"
    )
    _copy(query, layout)
    if pq.read_metadata(temporary).num_rows == 0:
        temporary.unlink()
        return None
    publish(temporary, final)
    return describe(layout, kind, final, tier=tier, is_settled=True)


def _copy(query: str, layout: Layout) -> None:
    """Runs a COPY within the first memory limit that it fits into."""
    for limit in MEMORY_LIMITS:
        with duckdb.connect(":memory:") as db:
            for name, value in (("memory_limit", limit), ("threads", "1"), ("temp_directory", layout.root / "tmp")):
                db.execute(f"SET {name} = {quote(value)}")
            try:
                db.execute(query)
                return
            except duckdb.OutOfMemoryException:
                if limit == MEMORY_LIMITS[-1]:
                    raise


def _rows_per_group(layout: Layout, paths: Sequence[str]) -> int:
    size = sum((layout.root / path).stat().st_size for path in paths)
    rows: int = sum(pq.read_metadata(layout.root / path).num_rows for path in paths)
    per_row = max(1, size // max(1, rows))
    return max(2048, min(16_384, _GROUP_BYTES // per_row // 2048 * 2048))


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
