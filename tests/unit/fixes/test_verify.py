import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.claims import Verdict
from whyspan.analysis.fixes.candidates import Candidate
from whyspan.analysis.fixes.verify import LOOKS, Measured, Word, measure
from whyspan.analysis.interventions import InsertRule
from whyspan.ingest.errors import UpstreamError

Rates = Callable[[Mapping[str, Any]], float]


def rule(text: str) -> Candidate:
    return Candidate(name=text, title=text, intervention=InsertRule(text))


def model_of(rates: Mapping[str, float], base: float, seed: int = 0) -> Callable[[dict[str, Any]], Any]:
    """Calls `pay` at the rate of the rule that the prompt ends in."""
    rng = random.Random(seed)

    def model(asked: dict[str, Any]) -> Any:
        words = str(asked["messages"][0]["content"]).rpartition("\n\n")[2]
        if rng.random() >= rates.get(words, base):
            return "No."
        call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    return model


@pytest.fixture
def run(case: Case, experiment_with: Callable[..., Any]) -> Callable[..., tuple[Measured, ...]]:
    def measure_rules(rates: Mapping[str, float], *, base: float = 1.0, budget: int = 1_000, seed: int = 0) -> Any:
        async def work() -> tuple[Measured, ...]:
            async with experiment_with(case, model_of(rates, base, seed), budget=budget) as experiment:
                return await measure(experiment, [rule(r) for r in rates])

        return asyncio.run(work())

    return measure_rules


Run = Callable[..., tuple[Measured, ...]]


def test_a_rule_that_stops_it_holds(run: Run) -> None:
    (found,) = run({"stop": 0.0})
    assert found.word is Word.HOLDS
    assert found.claim.verdict is Verdict.SUPPORTED
    assert found.claim.e_value >= 1 / found.claim.alpha
    assert 0 < found.residual[1] <= 0.25


def test_a_rule_that_does_nothing_fails(run: Run) -> None:
    (found,) = run({"nothing": 1.0})
    assert found.word is Word.FAILS
    assert found.claim.verdict is Verdict.REFUTED


def test_a_rule_that_leaks_only_reduces(run: Run) -> None:
    (found,) = run({"leaky": 0.35})
    assert found.word is Word.REDUCES
    assert found.residual[1] > 0.25


def test_a_useless_rule_gets_no_second_look(run: Run) -> None:
    (found,) = run({"nothing": 1.0})
    assert found.claim.changed.draws == LOOKS[0]


def test_the_best_is_the_one_with_the_least_that_may_be_left(run: Run) -> None:
    found = run({"nothing": 1.0, "leaky": 0.3, "stop": 0.0})
    assert [m.candidate.name for m in found] == ["stop", "leaky", "nothing"]


def test_candidates_share_the_error_rate(run: Run) -> None:
    found = run({f"rule {n}": 1.0 for n in range(5)})
    assert {m.claim.alpha for m in found} == {0.01}


def test_when_the_budget_ends_it_says_how_many_more_calls_would_tell(run: Run) -> None:
    (found,) = run({"stop": 0.0}, base=0.6, budget=12)
    assert found.word is Word.INCONCLUSIVE
    assert found.more_calls is not None
    assert 0 < found.more_calls < 100


def test_a_tight_budget_goes_to_the_most_promising(run: Run) -> None:
    found = {m.candidate.name: m for m in run({"nothing": 1.0, "leaky": 0.5, "stop": 0.0, "also": 0.0}, budget=72)}
    assert {name: m.claim.changed.draws for name, m in found.items()} == {
        "nothing": 8,
        "leaky": 8,
        "stop": 20,
        "also": 8,
    }
    assert found["stop"].word is Word.HOLDS
    assert not found["stop"].is_unfinished
    assert found["leaky"].is_unfinished


def test_what_comes_after_keeps_its_share_of_the_budget(case: Case, experiment_with: Callable[..., Any]) -> None:
    async def work(reserve: int) -> int:
        async with experiment_with(case, model_of({"stop": 0.0}, 1.0), budget=60) as experiment:
            await measure(experiment, [rule("stop")], reserve=reserve)
            return int(experiment.engine.budget.left)

    assert asyncio.run(work(0)) == 60 - 2 * LOOKS[1]
    assert asyncio.run(work(40)) == 60 - 2 * LOOKS[0]


def test_without_any_draw_nothing_is_promised(run: Run) -> None:
    (found,) = run({"stop": 0.0}, budget=0)
    assert found.word is Word.INCONCLUSIVE
    assert found.more_calls is None


def test_a_candidate_that_the_server_refuses_does_not_end_the_others(
    case: Case, experiment_with: Callable[..., Any]
) -> None:
    answer = model_of({"stop": 0.0, "odd": 0.0}, 1.0)

    def choosy(asked: dict[str, Any]) -> Any:
        if "odd" in asked["messages"][0]["content"]:
            raise ValueError("bad request")
        return answer(asked)

    async def work() -> tuple[Measured, ...]:
        async with experiment_with(case, choosy) as experiment:
            return await measure(experiment, [rule("odd"), rule("stop")])

    stop, odd = asyncio.run(work())
    assert stop.word is Word.HOLDS
    assert odd.word is Word.INCONCLUSIVE
    assert "bad request" in odd.refusal


def test_an_endpoint_that_answers_nothing_is_an_error(case: Case, experiment_with: Callable[..., Any]) -> None:
    def broken(asked: dict[str, Any]) -> Any:
        raise ValueError("no key")

    async def work() -> None:
        async with experiment_with(case, broken) as experiment:
            await measure(experiment, [rule("stop")])

    with pytest.raises(UpstreamError, match="no key"):
        asyncio.run(work())


def test_no_candidates_is_no_error(run: Run) -> None:
    assert run({}) == ()


@pytest.mark.parametrize("base", [1.0, 0.5])
def test_useless_rules_are_rarely_supported(run: Run, base: float) -> None:
    runs = 60
    supported = sum(
        any(m.is_supported for m in run({"a": base, "b": base, "c": base}, base=base, seed=s)) for s in range(runs)
    )
    assert supported / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_document_has_the_verdict_and_its_bounds(run: Run) -> None:
    (found,) = run({"stop": 0.0})
    document = found.to_json()
    assert document["verdict"] == "holds"
    assert document["residual_interval"] == list(found.residual)
    assert document["guards"] is None
