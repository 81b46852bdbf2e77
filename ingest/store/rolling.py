"""The roller process under a collector: `python -m whyspan.ingest.store.rolling STORE [KEEP_DAYS]`.

A process of its own, because decoding holds the interpreter and must not delay acknowledgements. It lives as long as
its standard input is open, so that it never outlives the collector, however that ends.
"""

import gc
import logging
import select
import signal
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa

from ..errors import WhyspanError
from .compaction import compact
from .layout import Layout
from .maintenance import prune
from .manifest import Manifest
from .roller import Roller, RollReport, pending_bytes
from .rolling_status import RollerStatus
from .store import Store

logger = logging.getLogger(__name__)

TICK_S = 0.5
"""Pause between rolls when nothing is waiting: what an acknowledged span takes to become visible."""
COMPACTION_PAUSE_S = 5.0
PRUNING_PAUSE_S = 3600.0
_DRAIN_S = 30.0


def main(root: str, keep_days: int | None = None) -> int:
    """Makes the store if need be, and rolls until standard input closes, then once more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the collector says when to stop
    layout = Layout(Path(root))
    try:
        Store.create(layout.root).close()
        manifest = Manifest.open(layout.manifest)
    except WhyspanError as error:
        _tell(RollerStatus(error=error.message, hint=error.hint or ""))
        return error.exit_code
    # Rows are built by the thousand and hold no cycles: collecting them early and often is a third of the work.
    gc.set_threshold(100_000, 50, 50)
    pa.set_cpu_count(1)  # columns are too small to be worth more threads, whose coming and going costs
    _roll_while_parent_lives(layout, manifest, Housekeeping(layout, keep_days))
    manifest.close()
    return 0


def _roll_while_parent_lives(layout: Layout, manifest: Manifest, housekeeping: "Housekeeping") -> None:
    roller, total = Roller(layout, manifest), RollReport()
    pause = 0.0
    while not _is_parent_gone(pause):
        report = roller.roll(wait_s=TICK_S)
        if report:
            total.add(report)
        _tell(_status(total, pending_bytes(layout, manifest)))
        pause = 0.0 if report and report.more else TICK_S
        if report and not report.frames:
            pa.default_memory_pool().release_unused()
        housekeeping.start_if_due()
    housekeeping.stop()
    roller.roll_everything(deadline_s=_DRAIN_S)


def _status(total: RollReport, pending: int) -> RollerStatus:
    return RollerStatus(
        pending_bytes=pending,
        rolled_bytes=total.bytes,
        rows=total.rows,
        duplicates=total.duplicates,
        quarantined=total.quarantined,
        torn=total.torn,
        watermark_ns=total.watermark_ns,
    )


def _tell(status: RollerStatus) -> None:
    sys.stdout.write(status.to_line() + "\n")
    sys.stdout.flush()


class Housekeeping:
    """Merges files and deletes old data beside the rolling: Arrow works outside the interpreter lock."""

    def __init__(self, layout: Layout, keep_days: int | None) -> None:
        self._layout = layout
        self._keep_days = keep_days
        self._thread = threading.Thread(target=self._run)
        self._stopping = threading.Event()
        self._next_compaction_s = 0.0
        self._next_pruning_s = 0.0

    def start_if_due(self) -> None:
        """Starts a round unless one is under way or has just been."""
        if not self._thread.is_alive() and time.monotonic() > self._next_compaction_s:
            self._next_compaction_s = time.monotonic() + COMPACTION_PAUSE_S
            self._thread = threading.Thread(target=self._run)
            self._thread.start()

    def stop(self) -> None:
        """Waits for the merge that is under way, if any."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        manifest = Manifest.open(self._layout.manifest)
        try:
            compact(self._layout, manifest, stopping=self._stopping)
            if self._keep_days is not None and time.monotonic() > self._next_pruning_s:
                self._next_pruning_s = time.monotonic() + PRUNING_PAUSE_S
                prune(self._layout, manifest, keep_days=self._keep_days)
        except WhyspanError as error:
            logger.warning("housekeeping is put off: %s", error)
        finally:
            manifest.close()


def _is_parent_gone(wait_s: float) -> bool:
    readable, _, _ = select.select([sys.stdin.buffer], [], [], wait_s)
    return bool(readable) and not sys.stdin.buffer.read(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None))
