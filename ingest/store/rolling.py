"""The roller process under a collector: `python -m whyspan.ingest.store.rolling STORE`.

A process of its own, because decoding holds the interpreter and must not delay acknowledgements. It lives as long as
its standard input is open, so that it never outlives the collector, however that ends.
"""

import select
import signal
import sys
from pathlib import Path

from .layout import Layout
from .manifest import Manifest
from .roller import roll, roll_everything

TICK_S = 0.5
"""Pause between rolls when nothing is waiting: what an acknowledged span takes to become visible."""
_DRAIN_S = 30.0


def main(root: str) -> int:
    """Rolls until standard input closes, then once more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the collector says when to stop
    layout = Layout(Path(root))
    manifest = Manifest.open(layout.manifest)
    pause = TICK_S
    while not _is_parent_gone(pause):
        report = roll(layout, manifest, wait_s=TICK_S)
        pause = 0.0 if report and report.more else TICK_S
    roll_everything(layout, manifest, deadline_s=_DRAIN_S)
    manifest.close()
    return 0


def _is_parent_gone(wait_s: float) -> bool:
    readable, _, _ = select.select([sys.stdin.buffer], [], [], wait_s)
    return bool(readable) and not sys.stdin.buffer.read(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
