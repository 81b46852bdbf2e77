"""What the commands that replay share: options, the desk they work at, progress, and running to the end."""

import functools
import math
import operator
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import click

from ..analysis.cases import Case
from ..analysis.desk import Caps, Desk, open_desk
from ..analysis.experiment import Experiment
from ..analysis.replay.budget import Budget
from ..analysis.replay.estimate import Estimate
from ..ingest.errors import UsageError
from ..ingest.overlays import Overlay, read_overlay
from .output import Session, printable, use_color
from .overlay_options import PARAMS, SYSTEM, TOOLS

ASK_ABOVE_USD = 1.0
"""Replays that are estimated to cost more are only made when the user agrees."""


@dataclass(frozen=True, kw_only=True)
class ReplayArguments:
    """The options of a replaying command, as the user gave them."""

    model_fn: str
    base_url: str
    budget: int | None
    concurrency: int | None
    max_tokens: int | None = None
    max_cost: float | None = None
    no_cache: bool = False
    max_age: float | None = None
    """Seconds."""
    dry_run: bool = False
    yes: bool = False
    tools_file: Path | None = None
    params_file: Path | None = None
    system_file: Path | None = None

    @property
    def overlay(self) -> Overlay:
        """What is put into the recorded request; UsageError for a file that does not hold it."""
        return read_overlay(tools=self.tools_file, params=self.params_file, system=self.system_file)

    @property
    def caps(self) -> Caps:
        """What is limited besides calls."""
        return Caps(tokens=self.max_tokens, cost_usd=self.max_cost, no_cache=self.no_cache, max_age_s=self.max_age)

    def words(self) -> str:
        """Returns the options that a follow-up command needs as well."""
        given = {
            "model-fn": self.model_fn, "base-url": self.base_url,
            "tools": self.tools_file, "params": self.params_file, "system": self.system_file,
        }  # fmt: skip
        return "".join(f" --{name} {shlex.quote(str(value))}" for name, value in given.items() if value)


def replay_options(command: Callable[..., Any], *, own_system: bool = False) -> Callable[..., Any]:
    """Adds the options; the command takes them as `replay: ReplayArguments`.

    A command whose `--system` means something else says `own_system`.
    """

    @functools.wraps(command)
    def with_arguments(*args: Any, **kwargs: Any) -> Any:
        given = {f.name: kwargs.pop(f.name) for f in fields(ReplayArguments) if f.name in kwargs}
        return command(*args, replay=ReplayArguments(**given), **kwargs)

    options = (
        click.option("--model-fn", default="", metavar="FILE:FUNCTION", help="A Python function answers the replays."),
        click.option("--base-url", default="", metavar="URL", help="An endpoint of the recorded API answers them."),
        click.option("--budget", type=click.IntRange(1), metavar="CALLS", help="Replays to pay for at most [200]."),
        click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Replays in flight at once [8]."),
        click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Tokens to pay for at most."),
        click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="US dollars to pay at most."),
        click.option("--no-cache", is_flag=True, help="Take no earlier replies, and keep none."),
        click.option("--max-age", type=Duration(), metavar="AGE", help="Ask again where a reply is older: 12h, 7d."),
        click.option("--dry-run", is_flag=True, help="Only tell what it would take."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask before it costs more than a little."),
        *((TOOLS, PARAMS) if own_system else (TOOLS, PARAMS, SYSTEM)),
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
            caps=replay.caps,
            overlay=replay.overlay,
            concurrency=replay.concurrency,
            progress=progress,
            warn=lambda words: click.echo(f"warning: {printable(words)}", err=True),
        ) as desk:
            yield desk
    finally:
        progress.clear()


def allow(desk: Desk, replay: ReplayArguments, calls: int) -> None:
    """Makes room in the budget for the calls that a command was told to make, unless `--budget` says how many."""
    if replay.budget is None:
        desk.budget.cap = max(desk.budget.cap, calls)
        desk.model.policy.limits.cap(desk.budget)


def agree(desk: Desk, cases: Sequence[Case], calls: int, replay: ReplayArguments) -> bool:
    """Tells what replays may take, and asks where that is more than a little; False when it shall not be done.

    `calls` is the most that each case needs. Raises UsageError when there is nobody to ask.
    """
    if not cases or not (replay.dry_run or desk.is_metered):
        return True
    most = min(calls, max(1, desk.budget.cap // len(cases)))
    total = functools.reduce(operator.add, (desk.estimate(case, most) for case in cases))
    if replay.dry_run:
        click.echo(estimate_words(total, "replays"))
        return False
    return consent(total, "replays", max_cost=replay.max_cost, yes=replay.yes)


def consent(total: Estimate, what: str, *, max_cost: float | None, yes: bool) -> bool:
    """Asks where work may cost more than a little; UsageError when there is nobody to ask. `what` are its calls."""
    words = estimate_words(total, what)
    cost = min(total.cost_usd or 0.0, max_cost if max_cost is not None else math.inf)
    if yes or cost <= ASK_ABOVE_USD:
        return True
    if not sys.stdin.isatty():
        raise UsageError(words, hint="-y goes on, --max-cost USD sets a cap, --dry-run only tells")
    return click.confirm(f"{words}. Go on?", err=True)


def estimate_words(total: Estimate, what: str) -> str:
    """Returns what calls are expected to take, in a line."""
    price = "at an unknown price" if total.cost_usd is None else f"about ${total.cost_usd:,.2f}"
    tokens = f"{total.input_tokens:,} tokens read, {total.output_tokens:,} written"
    return f"at most {total.calls:,} {what}, {tokens}, {price}"


class Duration(click.ParamType[float]):
    """A length of time such as `30m`, `12h` or `7d`; its value is in seconds."""

    name = "duration"
    _units: ClassVar = {"s": 1, "m": 60, "h": 3600, "d": 86400}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Reads the text."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", value)
        if found is None:
            self.fail(f"{value!r} is not a length of time such as 30m, 12h or 7d", param, ctx)
        return float(found[1]) * self._units[found[2]]


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
        line = f"{experiment.stream}: {experiment.drawn} replays, {_spend_words(budget)} paid, {pace:.1f}/s"
        click.echo(f"\r\x1b[2K{line}" if self._live else line, err=True, nl=not self._live)
        self._shown = self._live

    def clear(self) -> None:
        """Removes the live line."""
        if self._shown:
            click.echo("\r\x1b[2K", err=True, nl=False)
            self._shown = False


def _spend_words(budget: Budget) -> str:
    """Returns `12 of 200`, with the money where some was spent or is capped."""
    words = f"{budget.spent} of {budget.cap}"
    if budget.cost_cap_usd is not None:
        return f"{words} (${budget.cost_usd:.2f} of ${budget.cost_cap_usd:.2f})"
    return f"{words} (${budget.cost_usd:.2f})" if budget.cost_usd else words
