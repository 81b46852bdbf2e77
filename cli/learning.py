"""What the commands that run things share: options, budget and policy, what it would take, and the bench."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .output import Session, write_json, write_table

if TYPE_CHECKING:
    from ..analysis.learning.play.bench import Bench
    from ..analysis.learning.play.forecasts import Forecast
    from ..analysis.learning.scenarios.scenario import Scenario
    from ..analysis.policy import Policy
    from ..analysis.replay.budget import Budget
    from ..analysis.replay.models import ModelChoice
    from ..ingest.prices import PriceList
    from ..ingest.store import Store

T = TypeVar("T")
CALLS = 2000
"""Calls that one command may make unless told otherwise: a lesson takes some dozens."""


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """The options of a command that runs something, as the user gave them."""

    model_fn: str
    base_url: str
    budget: int | None
    concurrency: int | None
    max_tokens: int | None
    max_cost: float | None
    dry_run: bool
    yes: bool

    def choice(self) -> "ModelChoice | None":
        """Returns the user's own model; None when the files say which."""
        from ..analysis.replay.models import choose_model

        named = self.model_fn or self.base_url
        return choose_model(model_fn=self.model_fn, base_url=self.base_url) if named else None

    def caps(self, policy: "Policy") -> "Budget":
        """Returns the budget; UsageError where an option asks for more than the policy allows."""
        from ..analysis.replay.budget import Budget

        for name, value in (("calls", self.budget), ("tokens", self.max_tokens), ("usd", self.max_cost)):
            policy.limits.check(name, value)
        budget = Budget(self.budget or CALLS, tokens=self.max_tokens, cost_usd=self.max_cost)
        policy.limits.cap(budget)
        return budget


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """What a run works with."""

    store: "Store"
    options: RunArguments
    policy: "Policy"
    budget: "Budget"
    choice: "ModelChoice | None"
    concurrency: int
    prices: "PriceList"
    as_json: bool

    def bench(self, scenario: "Scenario") -> "Bench":
        """Returns the bench of a scenario."""
        from ..analysis.learning.play.bench import Bench

        return Bench(
            scenario=scenario, store=self.store, budget=self.budget, concurrency=self.concurrency, choice=self.choice,
            prices=self.prices,
        )  # fmt: skip

    def agrees(self, forecast: "Forecast") -> bool:
        """Tells what it would take, or asks where that may cost more than a little; False when it shall not be done."""
        from .replaying import consent, estimate_words

        if not self.options.dry_run:
            return consent(forecast.total, "model calls", max_cost=self.options.max_cost, yes=self.options.yes)
        document = forecast.to_json()
        if self.as_json:
            write_json({"dry_run": document})
        else:
            write_table(("part", "calls", "read", "written", "usd"), [tuple(row.values()) for row in document["parts"]])
            click.echo(f"\n{estimate_words(forecast.total, 'model calls')}; the budget allows {forecast.cap:,}")
        return False

    def carry_out(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns what comes of work, within the time that the policy allows."""
        from ..analysis.learning.play.engines import within

        return asyncio.run(within(self.policy.limits, work))


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
            "--budget", type=click.IntRange(1), metavar="CALLS", help=f"Model calls to pay for at most [{CALLS}]."
        ),
        click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Calls in flight at once [8]."),
        click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Tokens to pay for at most."),
        click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="US dollars to pay at most."),
        click.option("--dry-run", is_flag=True, help="Only tell what it would take."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask before it costs more than a little."),
    )
    result: Callable[..., Any] = with_arguments
    for option in reversed(options):
        result = option(result)
    return result


@contextmanager
def workplace(session: Session, options: RunArguments, *, as_json: bool) -> Iterator[Workplace]:
    """Opens the store, making it when there is none, and the budget, which the policy caps."""
    from ..analysis.policy import load_policy
    from ..ingest.prices import read_prices
    from ..ingest.settings import load_section

    policy = load_policy()
    with session.create_store() as store:
        yield Workplace(
            store=store,
            options=options,
            policy=policy,
            budget=options.caps(policy),
            choice=options.choice(),
            concurrency=options.concurrency or session.settings.concurrency,
            prices=read_prices(load_section("prices")),
            as_json=as_json,
        )
