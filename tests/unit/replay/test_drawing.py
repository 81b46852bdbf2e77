"""Samples drawn from what a model tells: one call for any number of them, with the law of the server's own draws."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from whyspan.analysis.attribution.problem import Outcome
from whyspan.analysis.cases import Case
from whyspan.analysis.experiment import STREAMS, Experiment
from whyspan.analysis.interventions import Noop
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.drawing import ChoiceSampler
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api, Body, ModelReply, Usage
from whyspan.ingest.errors import UpstreamError

pytestmark = pytest.mark.anyio

PAY = 0.7
GRAMMAR = {"model": "m", "messages": [], "grammar": 'root ::= "pay" | "wait"'}
TOOLS = {
    "model": "m", "messages": [], "tool_choice": "required",
    "tools": [{"type": "function", "function": {"name": n}} for n in ("send", "archive")],
}  # fmt: skip


def tells(request: Body) -> Completion:
    """Answers like a server that tells probabilities when asked for them."""
    listed = [{"token": t, "logprob": math.log(p)} for t, p in (("pay", PAY), ("wait", 1 - PAY))]
    if "tools" in request:
        listed = [{"token": t, "logprob": math.log(p)} for t, p in (("send", PAY), ("archive", 1 - PAY))]
    lead: list[dict[str, Any]] = [{"token": '{"name": "', "top_logprobs": []}] if "tools" in request else []
    logprobs = [*lead, {"token": "pay", "top_logprobs": listed}] if request.get("logprobs") else ()
    return Completion(reply=ModelReply(text="wait"), usage=Usage(input_tokens=9), logprobs=logprobs)


class Model:
    endpoint = "fake"
    batch = 1

    def __init__(self, answer: Callable[[Body], Completion] = tells) -> None:
        self._answer = answer
        self.asked: list[Body] = []

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        self.asked.append(request)
        return [self._answer(request)]

    async def aclose(self) -> None:
        """Nothing to release."""


def engine_of(model: Model, *, budget: int = 99, path: Path | None = None) -> ReplayEngine:
    return ReplayEngine(model, SqliteReplyStore(path), Budget(budget))


def case_of(event: str = "text:/^pay/", request: Body = GRAMMAR) -> Case:
    return Case(api=Api.OPENAI_CHAT, request=request, target=parse_target(event))


async def test_one_call_gives_any_number_of_samples_with_the_told_probability() -> None:
    model = Model()
    sampler = ChoiceSampler(engine_of(model))
    found = await sampler.sample(GRAMMAR, 0, 4000)
    hits = sum(stored.completion.reply.text == "pay" for stored, _ in found)
    assert len(model.asked) == 1
    assert abs(hits / 4000 - PAY) < 4 * math.sqrt(PAY * (1 - PAY) / 4000)


async def test_the_first_sample_stands_for_the_call() -> None:
    found = await ChoiceSampler(engine_of(Model())).sample(GRAMMAR, 0, 3)
    assert [cached for _, cached in found] == [False, True, True]
    assert [stored.completion.usage.input_tokens for stored, _ in found] == [9, None, None]
    assert all(stored.end_ns > stored.start_ns for stored, _ in found)


async def test_what_a_call_took_is_told_again_when_its_reading_was_kept(tmp_path: Path) -> None:
    for is_cached in (False, True):
        sampler = ChoiceSampler(engine_of(Model(), path=tmp_path / "replies"))
        ((stored, cached),) = await sampler.sample(GRAMMAR, 0, 1)
        assert (stored.completion.usage.input_tokens, cached) == (9, is_cached)


async def test_a_sample_is_the_same_draw_every_time_and_is_not_paid_for_twice(tmp_path: Path) -> None:
    first, second = Model(), Model()
    texts = []
    for model, size in ((first, 64), (second, 32)):
        sampler = ChoiceSampler(engine_of(model, path=tmp_path / "replies"))
        found = [pair for start in range(0, 64, size) for pair in await sampler.sample(GRAMMAR, start, size)]
        texts.append([stored.completion.reply.text for stored, _ in found])
    assert texts[0] == texts[1]
    assert set(texts[0]) == {"pay", "wait"}
    assert (len(first.asked), len(second.asked)) == (1, 0)


async def test_a_request_that_forces_no_choice_is_sampled() -> None:
    model = Model()
    free = {"model": "m", "messages": []}
    found = await ChoiceSampler(engine_of(model)).sample(free, 0, 3)
    assert [stored.completion.reply.text for stored, _ in found] == ["wait"] * 3
    assert model.asked == [free] * 3


async def test_more_alternatives_are_asked_for_only_once() -> None:
    def answer(request: Body) -> Completion:
        listed = [("pay", 0.4), ("wait", 0.1)] if request.get("top_logprobs", 0) > 20 else [("pay", 0.4)]
        top = [{"token": t, "logprob": math.log(p)} for t, p in listed]
        return Completion(reply=ModelReply(), logprobs=[{"token": "pay", "top_logprobs": top}])

    model = Model(answer)
    sampler = ChoiceSampler(engine_of(model))
    for n in range(3):
        await sampler.sample({**GRAMMAR, "seed": n}, 0, 16)
    assert [request["top_logprobs"] for request in model.asked] == [20, 2000, 2000, 2000]


async def test_an_ended_budget_gives_fewer_samples_and_is_no_answer_for_later() -> None:
    model = Model()
    sampler = ChoiceSampler(engine_of(model, budget=1))
    assert len(await sampler.sample(GRAMMAR, 0, 16)) == 16
    assert await sampler.sample({**GRAMMAR, "temperature": 0.5}, 0, 16) == []
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("event", "request_body", "is_told"),
    [
        ("text:/^pay/", GRAMMAR, True),
        ("tool:send", TOOLS, True),
        ("text:/^(pay|wait)/", GRAMMAR, False),
        ("text:/^never/", GRAMMAR, False),
        ("tool:send[to='eve']", TOOLS, False),
        ('judge:"Does it pay?"', GRAMMAR, False),
        ("no-tool", GRAMMAR, False),
        ("text:/^pay/", {"model": "m", "messages": []}, False),
    ],
)
async def test_only_what_the_choice_alone_tells_is_drawn(event: str, request_body: Body, is_told: bool) -> None:
    sampler = await ChoiceSampler.open(engine_of(Model()), case_of(event, request_body))
    assert (sampler is not None) == is_told


async def test_an_endpoint_that_tells_nothing_is_sampled() -> None:
    def refuses(request: Body) -> Completion:
        if "logprobs" in request:
            raise UpstreamError("logprobs are not supported")
        return tells(request)

    assert await ChoiceSampler.open(engine_of(Model(refuses)), case_of()) is None


async def test_an_experiment_counts_samples_and_records_one_trial_a_call() -> None:
    engine = engine_of(Model())
    recorded: list[Any] = []
    choices = await ChoiceSampler.open(engine, case_of())
    experiment = Experiment(case=case_of(), engine=engine, stream="fix", choices=choices, record=recorded.extend)
    outcomes = await experiment.draw(Noop(), 16) + await experiment.draw(Noop(), 16)
    experiment.flush()
    assert len(outcomes) == experiment.drawn == 32
    assert set(outcomes) == {Outcome.TARGET, Outcome.OTHER}
    assert [trial.stored.sample for trial in recorded] == [STREAMS["fix"]]
    assert engine.budget.spent == experiment.calls == 1


async def test_an_experiment_records_every_replay_of_a_request_that_is_not_told() -> None:
    engine = engine_of(Model())
    recorded: list[Any] = []
    choices = await ChoiceSampler.open(engine, case_of())
    experiment = Experiment(case=case_of(), engine=engine, stream="why", choices=choices, record=recorded.extend)
    await experiment.draw(Noop(), 16, request={"model": "m", "messages": []})
    experiment.flush()
    assert len(recorded) == 16
    assert experiment.paid == experiment.calls == 16
