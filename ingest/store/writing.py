"""The writing half of a store: spans into the log, the log into Parquet."""

import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from ..errors import StoreError
from ..otlp import encode_logs, encode_traces
from ..spans import LogRecord, Span
from .compaction import compact
from .durable import try_lock
from .layout import Layout, schema_name
from .maintenance import drop_spans
from .manifest import Manifest
from .parquet import write_file
from .roller import Roller
from .schema import TABLES
from .wal import Frame, FrameKind, Position, WalWriter

T = TypeVar("T")
_FRAME_ITEMS = 500
"""Items per frame: some megabytes of GenAI spans."""
_REFRESH_S = 2.0
"""How long a reader may be busy with what writers have left in the WAL."""
_VISIBLE_S = 30.0
"""How long `write` waits for another process's roll before it gives up."""
_MAX_HOT_FILES = 32
"""Beyond so many, a write is followed by compaction."""


class Writer:
    """Writes to one store; others may do so at the same time."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self._layout = layout
        self._manifest = manifest
        self._wal = WalWriter(layout.wal)
        self._roller = Roller(layout, manifest)

    def close(self) -> None:
        """Lets go of the log."""
        self._wal.close()

    def write(self, spans: Iterable[Span], logs: Iterable[LogRecord]) -> None:
        """Stores spans and log records; they are durable and queryable when it returns."""
        now = time.time_ns()
        frames = [
            *(Frame(kind=FrameKind.TRACES, payload=encode_traces(c), received_ns=now) for c in _chunks(spans)),
            *(Frame(kind=FrameKind.LOGS, payload=encode_logs(c), received_ns=now) for c in _chunks(logs)),
        ]
        if frames:
            self._make_visible(self._wal.append(frames))
            self._tidy()

    def replace(self, spans: Iterable[Span]) -> None:
        """Stores newer versions of spans in place of what there is under their ids."""
        newer = list(spans)
        if newer:
            drop_spans(self._layout, self._manifest, {(s.trace_id, s.span_id) for s in newer})
            self.write(newer, ())

    def refresh(self) -> None:
        """Makes what other writers have acknowledged visible, as far as that is possible in two seconds."""
        self._roller.roll_everything(deadline_s=_REFRESH_S)

    def _make_visible(self, position: Position) -> None:
        """Rolls up to the position, unless another process does."""
        deadline = time.monotonic() + _VISIBLE_S
        while not self._is_rolled(position):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{self._layout.root} is locked by a process that does not finish",
                    hint="what was written is safe and becomes visible once that process ends",
                )
            self._roller.roll(wait_s=0.05)

    def _tidy(self) -> None:
        """Merges what this and other short-lived writers have scattered, now and then."""
        if sum(file.tier == "hot" for file in self._manifest.live_files()) > _MAX_HOT_FILES:
            compact(self._layout, self._manifest)

    def _is_rolled(self, position: Position) -> bool:
        return self._manifest.rolled().get(position.segment, 0) >= position.offset


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, _FRAME_ITEMS)):
        yield chunk


def fix_columns(layout: Layout, manifest: Manifest) -> None:
    """Gives each table a file without rows that has all its columns, so that views never miss one.

    A new store has no other files, and an older one may have been written before a column was added.
    """
    with try_lock(layout.roll_lock, wait_s=_VISIBLE_S) as locked:
        if not locked:
            raise StoreError(f"{layout.root} is locked by a process that does not finish", hint="try again later")
        wanted = {schema_name(kind): kind for kind in TABLES}
        present = {Path(file.path).name: file.path for file in manifest.live_files() if file.tier == "schema"}
        files = [
            write_file(layout, kind, TABLES[kind].schema.empty_table(), tier="schema", name=name)
            for name, kind in wanted.items()
            if name not in present  # another process may have written it meanwhile
        ]
        manifest.replace([path for name, path in present.items() if name not in wanted], files)
