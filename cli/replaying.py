"""What the commands that replay share: options, the desk they work at, progress, and running to the end."""

import functools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from ..analysis.desk import Desk, open_desk
from ..analysis.experiment import Experiment
from .output import Session, use_color


@dataclass(frozen=True, kw_only=True)
class ReplayArguments:
    """The options of a replaying command, as the user gave them."""

    model_fn: str
    base_url: str
    budget: int | None
    concurrency: int | None

    def words(self) -> str:
        """Returns the options that a follow-up command needs as well."""
        words = f" --model-fn {self.model_fn}" if self.model_fn else ""
        return words + (f" --base-url {self.base_url}" if self.base_url else "")


def replay_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command takes them as `replay: ReplayArguments`."""

    @functools.wraps(command)
    def with_arguments(
        *args: Any, model_fn: str, base_url: str, budget: int | None, concurrency: int | None, **kwargs: Any
    ) -> Any:
        arguments = ReplayArguments(model_fn=model_fn, base_url=base_url, budget=budget, concurrency=concurrency)
        return command(*args, replay=arguments, **kwargs)

    options = (
        click.option("--model-fn", default="", metavar="FILE:FUNCTION", help="A Python function answers the replays."),
        click.option("--base-url", default="", metavar="URL", help="An OpenAI-compatible endpoint answers them."),
        click.option("--budget", type=click.IntRange(1), metavar="CALLS", help="Replays to pay for at most [200]."),
        click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Replays in flight at once [8]."),
    )
    result: Callable[..., Any] = with_arguments
    for option in reversed(options):
        result = option(result)
    return result


@contextmanager
def desk_of(session: Session, replay: ReplayArguments) -> Iterator[Desk]:
    """Opens the store and the model that the options name, with progress on standard error."""
    progress = Progress(session)
    try:
        with open_desk(
            store=session.store_argument,
            model_fn=replay.model_fn,
            base_url=replay.base_url,
            budget=replay.budget,
            concurrency=replay.concurrency,
            progress=progress,
        ) as desk:
            yield desk
    finally:
        progress.clear()


class Progress:
    """Shows done, cap and pace on standard error: one live line on a terminal, a plain line every 10 s elsewhere."""

    def __init__(self, session: Session) -> None:
        self._live = sys.stderr.isatty() and use_color(sys.stderr, session.color)
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, experiment: Experiment) -> None:
        """Called after every draw."""
        now = time.monotonic()
        if now - self._last < (0.1 if self._live else 10.0):
            return
        self._last = now
        budget = experiment.engine.budget
        pace = budget.spent / max(now - self._start, 1e-9)
        line = (
            f"{experiment.stream}: {experiment.drawn} replays, {budget.spent} of {budget.cap} paid, {pace:.1f}/s"
        )
        click.echo(f"\r\x1b[2K{line}" if self._live else line, err=True, nl=not self._live)
        self._shown = self._live

    def clear(self) -> None:
        """Removes the live line."""
        if self._shown:
            click.echo("\r\x1b[2K", err=True, nl=False)
            self._shown = False
