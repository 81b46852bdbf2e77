"""The engines that ask players: one for each player, all within one budget and the policy."""

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from ....ingest.calls import Body
from ....ingest.errors import BudgetExceededError
from ....ingest.prices import PriceList
from ...cases import Case
from ...desk import REPLY_FILE
from ...experiment import STREAM_SIZE
from ...policy import NO_POLICY, Limits, Policy
from ...replay.budget import Budget
from ...replay.engine import ReplayEngine
from ...replay.estimate import Estimate, estimate
from ...replay.models import ModelChoice
from ...replay.prices import NO_PRICES
from ...replay.reply_store import SqliteReplyStore
from .exchanges import Exchange
from .players import FUNCTIONS, RECORDED, RULES, WHY, Player

T = TypeVar("T")
FIRST_SAMPLE = 4 * STREAM_SIZE
"""Sample indices of runs are apart from those of experiments: what made somebody suspect a decision is no evidence."""


class Ask(Protocol):
    """Asks a player, within the budget."""

    def __call__(self, player: Player, text: str) -> Awaitable[Exchange]:
        """Returns its answer."""
        ...


@dataclass(kw_only=True)
class Engines:
    """Opens an engine when a player is asked first, and closes what it has opened."""

    folder: Path
    """The store's, where paid replies are kept."""
    budget: Budget
    policy: Policy = NO_POLICY
    choice: ModelChoice | None = None
    """The user's own model, in the place of `proposer`."""
    proposer: Player
    concurrency: int = 8
    prices: PriceList = NO_PRICES
    way_on: str = "the same command with a larger --budget goes on; what was paid for is kept"
    """What to do when the budget has ended, unless the policy has set it."""
    _open: dict[str, ReplayEngine] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    def check(self, players: Iterable[Player]) -> None:
        """Opens engines before anything is paid for; UsageError where the policy or the configuration has none."""
        for player in players:
            is_chosen = self.choice is not None and player == self.proposer
            needs_case = player.provider == WHY or (player.provider == RECORDED and not is_chosen)
            if not needs_case:
                self.engine(player)

    async def ask(self, player: Player, request: Body, sample: int = 0, frozen: Case | None = None) -> Exchange:
        """Asks a player; the same sample of the same request is paid for once.

        `frozen` is the decision that is replayed, where it is one. Raises BudgetExceededError when a cap is reached.
        """
        found = await self.engine(player, frozen).sample(request, FIRST_SAMPLE + sample, 1)
        if not found:
            raise BudgetExceededError("the budget has ended", hint=self._way_on())
        ((stored, cached),) = found
        return Exchange(provider=player.provider, request=request, stored=stored, cached=cached)

    def estimate(self, player: Player, request: Body, calls: int, frozen: Case | None = None) -> Estimate:
        """Returns what it is expected to take to ask a player so many times, known replies aside."""
        if self.is_free(player):
            return Estimate(calls=calls, input_tokens=0, output_tokens=0, cost_usd=0.0)
        url = self.engine(player, frozen).provider.endpoint.partition("#")[0]
        return estimate(request, calls, url, self.prices)

    def is_free(self, player: Player) -> bool:
        """Whether a player is a function on this machine, which takes no tokens."""
        choice = self.choice if player == self.proposer else None
        return bool(choice.model_fn) if choice else player.provider in FUNCTIONS

    def engine(self, player: Player, frozen: Case | None = None) -> ReplayEngine:
        """Returns the engine that asks a player."""
        origin = (frozen.api, frozen.origin.provider, frozen.origin.base_url) if frozen else ()
        asked = frozen.id if frozen and player.provider == WHY else ""
        key = repr((player.to_json(), player.folder, origin, asked))
        if key not in self._open:
            choice = self.choice if player == self.proposer else None
            self._admit(player, choice)
            provider, limits = player.open(choice, frozen)
            self._stack.push_async_callback(provider.aclose)
            self.policy.check_endpoint(provider.endpoint)
            replies = SqliteReplyStore(self.folder / REPLY_FILE)
            self._stack.callback(replies.close)
            self._open[key] = ReplayEngine(
                provider, replies, self.budget, concurrency=self.concurrency, limits=limits, prices=self.prices
            )
        return self._open[key]

    def _admit(self, player: Player, choice: ModelChoice | None) -> None:
        if choice is None:
            self.policy.providers.check(player.provider)
            if player.argv:
                self.policy.commands.check(Path(player.argv[0]).name)
        elif choice.model_fn:
            self.policy.providers.check(RULES)

    def _way_on(self) -> str:
        limits, budget = self.policy.limits, self.budget
        caps = ((limits.calls, budget.cap), (limits.tokens, budget.token_cap), (limits.usd, budget.cost_cap_usd))
        if any(rule is not None and rule == cap for rule, cap in caps):
            return f"the policy sets it: {limits.place}; what was paid for is kept"
        return self.way_on


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


async def within(limits: Limits, work: Coroutine[Any, Any, T], *, spent_s: float = 0.0) -> T:
    """Returns what comes of work, or raises BudgetExceededError, with the rule, once its time is over.

    `spent_s` is what was taken of it before; where nothing is left, the work is not begun.
    """
    left = None if limits.seconds is None else limits.seconds - spent_s
    over = BudgetExceededError(
        f"the time is over: {limits.place}.seconds: {limits.seconds}", hint="raise it, then the same command goes on"
    )
    if left is not None and left <= 0:
        work.close()
        raise over
    try:
        async with asyncio.timeout(left) as clock:
            return await work
    except TimeoutError:
        if not clock.expired():
            raise
        raise over from None
