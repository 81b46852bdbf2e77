"""The roller process under a collector: `python -m whyspan.ingest.store.rolling STORE`.

A process of its own, because decoding holds the interpreter and must not delay acknowledgements. It lives as long as
its standard input is open, so that it never outlives the collector, however that ends.
"""

import select
import signal
import sys
import threading
import time
from pathlib import Path

from .compaction import compact
from .layout import Layout
from .manifest import Manifest
from .roller import roll, roll_everything

TICK_S = 0.5
"""Pause between rolls when nothing is waiting: what an acknowledged span takes to become visible."""
COMPACTION_PAUSE_S = 5.0
_DRAIN_S = 30.0


def main(root: str) -> int:
    """Rolls until standard input closes, then once more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the collector says when to stop
    layout = Layout(Path(root))
    manifest = Manifest.open(layout.manifest)
    pause, compaction = TICK_S, Compaction(layout)
    while not _is_parent_gone(pause):
        report = roll(layout, manifest, wait_s=TICK_S)
        pause = 0.0 if report and report.more else TICK_S
        compaction.start_if_idle()
    compaction.wait()
    roll_everything(layout, manifest, deadline_s=_DRAIN_S)
    manifest.close()
    return 0


class Compaction:
    """Merges files beside the rolling: DuckDB works outside the interpreter lock."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._thread = threading.Thread(target=self._run)
        self._next_s = 0.0

    def start_if_idle(self) -> None:
        """Starts a round unless one is under way or has just been."""
        if not self._thread.is_alive() and time.monotonic() > self._next_s:
            self._next_s = time.monotonic() + COMPACTION_PAUSE_S
            self._thread = threading.Thread(target=self._run)
            self._thread.start()

    def wait(self) -> None:
        """Waits for the round that is under way."""
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        manifest = Manifest.open(self._layout.manifest)
        compact(self._layout, manifest)
        manifest.close()


def _is_parent_gone(wait_s: float) -> bool:
    readable, _, _ = select.select([sys.stdin.buffer], [], [], wait_s)
    return bool(readable) and not sys.stdin.buffer.read(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
