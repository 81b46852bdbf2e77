"""What the commands that run things share: options, budget, and the bench."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from .output import Session

if TYPE_CHECKING:
    from ..analysis.learning.bench import Bench
    from ..analysis.learning.scenario import Scenario
    from ..analysis.replay.budget import Budget
    from ..analysis.replay.models import ModelChoice
    from ..ingest.prices import PriceList
    from ..ingest.store import Store

CALLS = 2000
"""Calls that one command may make unless told otherwise: a lesson takes some dozens."""


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """The options of a command that runs something, as the user gave them."""

    model_fn: str
    base_url: str
    budget: int
    concurrency: int | None
    max_tokens: int | None
    max_cost: float | None

    def choice(self) -> "ModelChoice | None":
        """Returns the user's own model; None when the files say which."""
        from ..analysis.replay.models import choose_model

        named = self.model_fn or self.base_url
        return choose_model(model_fn=self.model_fn, base_url=self.base_url) if named else None

    def caps(self) -> "Budget":
        """Returns the budget."""
        from ..analysis.replay.budget import Budget

        return Budget(self.budget, tokens=self.max_tokens, cost_usd=self.max_cost)


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """What a run works with."""

    store: "Store"
    budget: "Budget"
    choice: "ModelChoice | None"
    concurrency: int
    prices: "PriceList"

    def bench(self, scenario: "Scenario") -> "Bench":
        """Returns the bench of a scenario."""
        from ..analysis.learning.bench import Bench

        return Bench(
            scenario=scenario, store=self.store, budget=self.budget, concurrency=self.concurrency, choice=self.choice,
            prices=self.prices,
        )  # fmt: skip


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command takes them as `options: RunArguments`."""

    @functools.wraps(command)
    def with_arguments(*args: Any, **kwargs: Any) -> Any:
        given = {f.name: kwargs.pop(f.name) for f in fields(RunArguments)}
        return command(*args, options=RunArguments(**given), **kwargs)

    options = (
        click.option("--model-fn", default="", metavar="FILE:FUNCTION", help="A Python function is the model."),
        click.option("--base-url", default="", metavar="URL", help="An OpenAI-compatible endpoint is the model."),
        click.option(
            "--budget", type=click.IntRange(1), default=CALLS, show_default=True, metavar="CALLS",
            help="Model calls to pay for at most.",
        ),
        click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Calls in flight at once [8]."),
        click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Tokens to pay for at most."),
        click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="US dollars to pay at most."),
    )  # fmt: skip
    result: Callable[..., Any] = with_arguments
    for option in reversed(options):
        result = option(result)
    return result


@contextmanager
def workplace(session: Session, options: RunArguments) -> Iterator[Workplace]:
    """Opens the store, making it when there is none, and the budget."""
    from ..ingest.prices import read_prices
    from ..ingest.settings import load_section

    with session.create_store() as store:
        yield Workplace(
            store=store,
            budget=options.caps(),
            choice=options.choice(),
            concurrency=options.concurrency or session.settings.concurrency,
            prices=read_prices(load_section("prices")),
        )
