"""The bench: plays cases of a scenario with and without lessons, within one budget, and scores what comes."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ....ingest.calls import Body, Json
from ....ingest.prices import PriceList
from ....ingest.store import Store
from ...replay.budget import Budget
from ...replay.models import ModelChoice
from ...replay.prices import NO_PRICES
from ..lessons.lesson import Lesson, bundle_id, with_lessons
from ..scenarios.scenario import Scenario, ScenarioCase
from ..scoring.evaluator import Evaluator
from ..scoring.scores import Score, schema_score
from .engines import Engines
from .environments import roll_out
from .exchanges import Exchange
from .players import Player
from .plays import Play

SAMPLES_OF_A_RUN = 1000


@dataclass(kw_only=True)
class Bench:
    """A scenario that can be played."""

    scenario: Scenario
    store: Store
    budget: Budget
    concurrency: int = 8
    choice: ModelChoice | None = None
    """The user's own model in the place of the scenario's."""
    prices: PriceList = NO_PRICES

    def __post_init__(self) -> None:
        """Raises UsageError where the policy does not allow what the scenario needs."""
        scenario = self.scenario
        self.engines = Engines(
            folder=Path(self.store.path), budget=self.budget, policy=scenario.policy, choice=self.choice,
            proposer=scenario.proposer, concurrency=self.concurrency, prices=self.prices,
        )  # fmt: skip
        if scenario.environment:
            scenario.environment.check(scenario.policy)
        evaluator = scenario.evaluator
        self._evaluator = Evaluator(evaluator, self.ask, scenario.policy) if evaluator else None

    async def play(
        self, case: ScenarioCase, lessons: Sequence[Lesson], sample: int, *,
        generation: int | None = None, variables: Mapping[str, Json] | None = None, simulation: str = "",
    ) -> Play:  # fmt: skip
        """Plays a case once. The same sample of the same request is paid for once.

        Raises BudgetExceededError when a cap is reached, FormatError when the evaluator fails.
        """
        scenario, api = self.scenario, self.scenario.api_of(case)
        ask = partial(self.engines.ask, scenario.proposer, sample=sample, frozen=case.frozen)

        def begin(message: str) -> Body:
            return with_lessons(api, scenario.request(case, variables, message=message), lessons)

        if scenario.environment:
            exchanges, score = await roll_out(
                scenario.environment, case.input, begin, ask, api=api, policy=scenario.policy
            )
        else:
            exchanges = [await ask(begin(""))]
            score = await self._score(case, exchanges[0])
        return Play(
            scenario=scenario.name, epoch=scenario.epoch, case=case, bundle=bundle_id(lessons),
            exchanges=tuple(exchanges), sample=sample, score=score, generation=generation,
            variables=variables or {}, simulation=simulation,
        )  # fmt: skip

    async def ask(self, player: Player, text: str) -> Exchange:
        """Asks a judge or a role; the same question has the same answer."""
        return await self.engines.ask(player, player.request(text))

    async def _score(self, case: ScenarioCase, exchange: Exchange) -> Score:
        assert self._evaluator is not None  # a scenario has an evaluator or an environment
        refusal = self.scenario.policy.refusal(exchange.reply)
        if refusal:
            return Score(score=0.0, feedback=(refusal,))
        schema = self.scenario.output_schema
        wrong = schema_score(schema, exchange.text) if schema else None
        return wrong or await self._evaluator.score(case.input, exchange.reply, case.expect)


@asynccontextmanager
async def open_bench(bench: Bench) -> AsyncIterator[Bench]:
    """Opens the engines of all players, and closes them however the work ends."""
    async with bench.engines:
        bench.engines.check(bench.scenario.players)
        yield bench
