"""Progress of a job on standard error: decisions done, ETA, spend of cap."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from .output import Session, use_color

if TYPE_CHECKING:
    from ..analysis.jobs.working import Standing

LIVE_S = 0.1
PLAIN_S = 10.0


class JobProgress:
    """One live line on a terminal, a plain line every 10 s elsewhere."""

    def __init__(self, session: Session) -> None:
        self._live = sys.stderr.isatty() and use_color(sys.stderr, session.color)
        self._last = time.monotonic()
        self._shown = False

    def __call__(self, standing: "Standing") -> None:
        """Shows how a run stands, unless it was shown a moment ago."""
        now = time.monotonic()
        if now - self._last < (LIVE_S if self._live else PLAIN_S):
            return
        self._last = now
        line = render_standing(standing)
        click.echo(f"\r\x1b[2K{line}" if self._live else line, err=True, nl=not self._live)
        self._shown = self._live

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            click.echo("\r\x1b[2K", err=True, nl=False)


def render_standing(standing: "Standing") -> str:
    """Returns `12 of 80 decisions, ETA 3 min, 410 of 2,000 replays paid, $0.42`."""
    eta = standing.eta_s
    words = [f"{standing.settled} of {standing.total} decisions"]
    if eta is not None and standing.settled < standing.total:
        words.append(f"ETA {eta / 60:.0f} min" if eta >= 90 else f"ETA {eta:.0f} s")
    words.append(f"{standing.paid:,} of {standing.cap:,} replays paid")
    return ", ".join([*words, *([f"${standing.cost_usd:.2f}"] if standing.cost_usd else [])])
