"""The bench: plays cases of a scenario with and without lessons, within one budget, and scores what comes."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ...ingest.calls import Json, ModelReply
from ...ingest.errors import BudgetExceededError
from ...ingest.prices import PriceList
from ...ingest.store import Store
from ..cases import Case
from ..desk import REPLY_FILE
from ..experiment import STREAM_SIZE
from ..replay.budget import Budget
from ..replay.engine import ReplayEngine
from ..replay.models import ModelChoice
from ..replay.prices import NO_PRICES
from ..replay.reply_store import SqliteReplyStore
from .evaluators import Evaluator, schema_score
from .lessons import Lesson, bundle_id, with_lessons
from .players import Player
from .records import Play
from .scenario import Scenario, ScenarioCase

T = TypeVar("T")
FIRST_SAMPLE = 4 * STREAM_SIZE
"""Sample indices of runs are apart from those of experiments: what made somebody suspect a decision is no evidence."""
SAMPLES_OF_A_RUN = 1000


@dataclass
class Bench:
    """A scenario that can be played."""

    scenario: Scenario
    store: Store
    budget: Budget
    concurrency: int = 8
    choice: ModelChoice | None = None
    """The user's own model in the place of the scenario's."""
    prices: PriceList = NO_PRICES
    _engines: dict[str, ReplayEngine] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._evaluator = Evaluator(self.scenario.evaluator, self.ask)

    async def play(
        self, case: ScenarioCase, lessons: Sequence[Lesson], sample: int, *,
        generation: int | None = None, variables: Mapping[str, Json] | None = None, simulation: str = "",
    ) -> Play:  # fmt: skip
        """Plays a case once. The same sample of the same request is paid for once.

        Raises BudgetExceededError when a cap is reached, FormatError when the evaluator fails.
        """
        api = self.scenario.api_of(case)
        request = with_lessons(api, self.scenario.request(case, variables), lessons)
        engine = self._engine(self.scenario.proposer, case.frozen)
        stored, cached = one(await engine.sample(request, FIRST_SAMPLE + sample, 1))
        reply, schema = stored.completion.reply, self.scenario.output_schema
        wrong = schema_score(schema, reply.text) if schema else None
        score = wrong or await self._evaluator.score(case.input, reply, case.expect)
        return Play(
            scenario=self.scenario.name, epoch=self.scenario.epoch, case=case, bundle=bundle_id(lessons), api=api,
            provider=self.scenario.proposer.provider, request=request, stored=stored, score=score, cached=cached,
            generation=generation, variables=variables or {}, simulation=simulation,
        )  # fmt: skip

    async def ask(self, player: Player, text: str, *, sample: int = 0) -> ModelReply:
        """Asks a judge or a role; the same question has the same answer."""
        stored, _ = one(await self._engine(player).sample(player.request(text), FIRST_SAMPLE + sample, 1))
        return stored.completion.reply

    def _engine(self, player: Player, frozen: Case | None = None) -> ReplayEngine:
        origin = (frozen.api, frozen.origin.provider, frozen.origin.base_url) if frozen else ()
        key = repr((player.to_json(), player.folder, origin))
        if key not in self._engines:
            is_proposer = player == self.scenario.proposer
            self._engines[key] = open_engine(
                self._stack, player, self.budget, Path(self.store.path), choice=self.choice if is_proposer else None,
                frozen=frozen, concurrency=self.concurrency, prices=self.prices,
            )  # fmt: skip
        return self._engines[key]


def open_engine(
    stack: AsyncExitStack, player: Player, budget: Budget, folder: Path, *,
    choice: ModelChoice | None = None, frozen: Case | None = None, concurrency: int = 8,
    prices: PriceList = NO_PRICES,
) -> ReplayEngine:  # fmt: skip
    """Returns the engine that asks a player; what it holds open is closed with the stack."""
    provider, limits = player.open(choice, frozen)
    replies = SqliteReplyStore(folder / REPLY_FILE)
    stack.push_async_callback(provider.aclose)
    stack.callback(replies.close)
    return ReplayEngine(provider, replies, budget, concurrency=concurrency, limits=limits, prices=prices)


@asynccontextmanager
async def open_bench(bench: Bench) -> AsyncIterator[Bench]:
    """Closes what the bench has opened, however the work ends."""
    async with bench._stack:
        yield bench


def one(found: Sequence[T]) -> T:
    """Returns the only reply; BudgetExceededError when a cap left none."""
    if not found:
        raise BudgetExceededError(
            "the budget has ended", hint="the same command with a larger --budget goes on; what was paid for is kept"
        )
    return found[0]


async def at_once(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Runs coroutines at once and returns their results in order; the first failure ends the others and is raised.

    A budget that ends lets those in flight come to their end, since they are paid for.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_or_end(one)) for one in work]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    results = [task.result() for task in tasks]
    ended = next((r for r in results if isinstance(r, BudgetExceededError)), None)
    if ended is not None:
        raise ended
    return [r for r in results if not isinstance(r, BudgetExceededError)]


async def _or_end(work: Coroutine[Any, Any, T]) -> T | BudgetExceededError:
    try:
        return await work
    except BudgetExceededError as error:
        return error
