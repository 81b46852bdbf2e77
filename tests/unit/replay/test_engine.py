import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from whyspan.analysis.replay import engine as engine_module
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.limits import Limits
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.ingest.calls import Body, ModelReply, Usage
from whyspan.ingest.errors import UpstreamError, UsageError

pytestmark = pytest.mark.anyio


@dataclass
class FakeModel:
    """Answers after a random moment; may fail; counts what it was asked and how much it has answered."""

    seed: int = 0
    batch: int = 1
    tokens: tuple[int, int] = (20, 10)
    failures: float = 0.0
    wait_s: float = 0.001
    endpoint: str = "https://api.openai.com/v1"
    asked: list[tuple[str, int]] = field(default_factory=list)
    answered: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        self.asked.append((str(request["messages"]), count))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.chance.uniform(0, self.wait_s))
        finally:
            self.in_flight -= 1
        if self.chance.random() < self.failures:
            raise UpstreamError("busy", transient=True)
        self.answered += count
        read, written = self.tokens
        usage = Usage(input_tokens=read, output_tokens=self.chance.randint(1, written) * count)
        replies = [Completion(reply=ModelReply(text=f"{self.answered}-{i}"), usage=Usage()) for i in range(count)]
        return [Completion(reply=replies[0].reply, usage=usage), *replies[1:]]

    async def aclose(self) -> None:
        """Nothing to release."""


def request(n: int = 0, **more: Any) -> Body:
    return {"model": "gpt-4o-mini", "max_tokens": 10, "messages": [{"role": "user", "content": f"q{n}"}], **more}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "BACKOFF_S", 0.001)


def engine(model: FakeModel, budget: Budget, **options: Any) -> ReplayEngine:
    return ReplayEngine(model, options.pop("replies", None) or SqliteReplyStore(None), budget, **options)


async def test_samples_are_answered_together_up_to_the_concurrency_limit() -> None:
    model = FakeModel(wait_s=0.02)
    found = await engine(model, Budget(100), concurrency=7).sample(request(), 0, 50)
    assert [s.sample for s, _ in found] == list(range(50))
    assert model.most_in_flight == 7


async def test_each_sample_is_a_fresh_reply_and_is_not_asked_for_twice() -> None:
    model, replies = FakeModel(), SqliteReplyStore(None)
    first = await engine(model, Budget(100), replies=replies).sample(request(), 0, 5)
    again = await engine(model, Budget(100), replies=replies).sample(request(), 3, 4)
    assert len({s.completion.reply.text for s, _ in first}) == 5
    assert [(s.completion.reply.text, cached) for s, cached in again[:2]] == [
        (s.completion.reply.text, True) for s, _ in first[3:]
    ]
    assert model.answered == 7


async def test_what_comes_from_the_reply_store_costs_no_budget() -> None:
    replies = SqliteReplyStore(None)
    await engine(FakeModel(), Budget(10), replies=replies).sample(request(), 0, 10)
    budget = Budget(0)
    found = await engine(FakeModel(), budget, replies=replies).sample(request(), 0, 12)
    assert len(found) == 10
    assert budget.spent == 0
    assert budget.is_exhausted


async def test_other_endpoints_replies_are_not_taken() -> None:
    replies = SqliteReplyStore(None)
    await engine(FakeModel(), Budget(10), replies=replies).sample(request(), 0, 2)
    other = FakeModel(endpoint="https://elsewhere.example/v1")
    await engine(other, Budget(10), replies=replies).sample(request(), 0, 2)
    assert other.answered == 2


async def test_usage_and_cost_are_kept_with_the_reply() -> None:
    budget = Budget(10)
    ((stored, _),) = await engine(FakeModel(tokens=(1000, 1)), budget).sample(request(), 0, 1)
    assert stored.completion.usage.input_tokens == 1000
    assert stored.completion.usage.cost_usd == pytest.approx(1000 * 0.15e-6 + 0.6e-6)
    assert budget.cost_usd == pytest.approx(stored.completion.usage.cost_usd)
    assert budget.tokens == 1001


async def test_a_lasting_failure_passes_through_and_gives_its_budget_back() -> None:
    class Broken(FakeModel):
        async def complete(self, request: Body, count: int) -> Sequence[Completion]:
            raise UpstreamError("bad key")

    budget = Budget(10)
    with pytest.raises(UpstreamError, match="bad key"):
        await engine(Broken(), budget).sample(request(), 0, 5)
    assert (budget.reserved, budget.spent) == (0, 0)


async def test_a_failed_call_is_an_outcome_where_failing_is_asked_about() -> None:
    class Broken(FakeModel):
        async def complete(self, request: Body, count: int) -> Sequence[Completion]:
            raise UpstreamError("the context is too long")

    ((stored, _),) = await engine(Broken(), Budget(10), keep_errors=True).sample(request(), 0, 1)
    assert stored.completion.reply.error == "the context is too long"


async def test_trying_again_ends_after_some_attempts() -> None:
    model = FakeModel(failures=1.0)
    with pytest.raises(UpstreamError, match="busy"):
        await engine(model, Budget(10)).sample(request(), 0, 1)
    assert len(model.asked) == engine_module.MAX_ATTEMPTS


async def test_a_pause_that_one_request_is_asked_for_holds_back_all() -> None:
    class Paced(FakeModel):
        async def complete(self, request: Body, count: int) -> Sequence[Completion]:
            self.asked.append((str(time.monotonic()), count))
            if len(self.asked) == 1:
                raise UpstreamError("slow down", transient=True, retry_after_s=0.2)
            return [Completion(reply=ModelReply(text="x"))]

    model = Paced()
    await engine(model, Budget(10), concurrency=1).sample(request(), 0, 3)
    first, *rest = (float(at) for at, _ in model.asked)
    assert len(rest) == 3
    assert min(rest) - first >= 0.19


async def test_a_pause_of_hours_ends_the_job_with_a_hint() -> None:
    class Paced(FakeModel):
        async def complete(self, request: Body, count: int) -> Sequence[Completion]:
            raise UpstreamError("daily limit", transient=True, retry_after_s=7200)

    with pytest.raises(UpstreamError, match="asks to wait 7200 s") as caught:
        await engine(Paced(), Budget(10)).sample(request(), 0, 1)
    assert "goes on from here" in (caught.value.hint or "")


async def test_requests_a_minute_are_kept() -> None:
    model = FakeModel(wait_s=0)
    start = time.monotonic()
    limits = Limits(requests_per_minute=60 * 50)
    await engine(model, Budget(100), concurrency=50, limits=limits).sample(request(), 0, 75)
    assert time.monotonic() - start >= (75 - 51) / 50


async def test_tokens_a_minute_are_kept() -> None:
    model = FakeModel(wait_s=0)
    limits = Limits(tokens_per_minute=60 * 2000)
    start = time.monotonic()
    await engine(model, Budget(100), limits=limits).sample(request(pad="x" * 400), 0, 6)
    assert time.monotonic() - start >= 0.3


@pytest.mark.parametrize("seed", range(50))
async def test_no_cap_is_ever_passed_in_random_schedules(seed: int) -> None:
    chance = random.Random(seed)
    model = FakeModel(seed=seed, batch=chance.choice([1, 1, 8]), failures=chance.choice([0.0, 0.1]))
    calls, tokens = chance.randint(0, 150), chance.choice([None, chance.randint(0, 4000)])
    usd = chance.choice([None, chance.uniform(0, 1e-3)])
    budget = Budget(calls, tokens=tokens, cost_usd=usd)
    one = engine(model, budget, concurrency=64, seed=seed)
    orders = [(request(chance.randint(0, 9)), chance.randint(0, 100) * 100, chance.randint(1, 9)) for _ in range(30)]
    found = await asyncio.gather(*(one.sample(*order) for order in orders), return_exceptions=True)
    assert not [f for f in found if isinstance(f, BaseException) and not isinstance(f, UpstreamError)]
    assert budget.spent <= calls
    assert model.answered <= calls
    assert tokens is None or budget.tokens <= tokens
    assert usd is None or budget.cost_usd <= usd
    assert budget.reserved == budget.spent, "nothing stays reserved"


async def test_a_token_cap_is_used_up_to_what_one_more_request_might_take() -> None:
    model = FakeModel(tokens=(20, 10))
    budget = Budget(10_000, tokens=5_000)
    await engine(model, budget, concurrency=64).sample(request(), 0, 10_000)
    assert 4_800 <= budget.tokens <= 5_000
    assert budget.is_exhausted


async def test_a_cap_in_money_needs_a_known_price() -> None:
    model = FakeModel(endpoint="http://127.0.0.1:1/v1")
    with pytest.raises(UsageError, match="price of 'gpt-4o-mini'"):
        await engine(model, Budget(10, cost_usd=1.0)).sample(request(), 0, 1)


async def test_a_function_costs_nothing_so_that_any_cap_in_dollars_is_kept() -> None:
    model = FakeModel(endpoint="function:agent.py:model@1")
    assert len(await engine(model, Budget(10, cost_usd=0.0)).sample(request(), 0, 3)) == 3


def test_a_budget_cannot_be_negative() -> None:
    with pytest.raises(UsageError, match="cannot be -1"):
        Budget(-1)
    with pytest.raises(UsageError, match="US dollars"):
        Budget(1, cost_usd=float("nan"))
