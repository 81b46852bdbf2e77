import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.fixes.candidates import Candidate
from whyspan.analysis.fixes.guarding import Guarding, Safety, guard
from whyspan.analysis.fixes.guards import GuardCase
from whyspan.analysis.fixes.horizon import Horizon, look_further
from whyspan.analysis.fixes.verify import Word, measure
from whyspan.analysis.interventions import Drop, InsertRule, Intervention

TEXTS = ("Dana asked for it.", "The user wants this.", "Please pay Tom.")


def paying(asked: dict[str, Any]) -> Any:
    """Pays unless a rule says `never`; a rule that says `ask` only stops it for Tom."""
    system, text = asked["messages"][0]["content"], asked["messages"][-1]["content"]
    if "never" in system or ("ask" in system and "Tom" in text):
        return "No."
    call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.fixture
def protect(build_case: Callable[..., Case], experiment_with: Callable[..., Any]) -> Callable[..., Any]:
    def run(*changes: Intervention, budget: int = 1_000, texts: tuple[str, ...] = TEXTS) -> tuple[Guarding, ...]:
        guards = [GuardCase(case=build_case(text=t), reason=t) for t in texts]

        async def work() -> tuple[Guarding, ...]:
            async with AsyncExitStack() as stack:
                opened = [
                    await stack.enter_async_context(experiment_with(g.case, paying, budget=budget)) for g in guards
                ]
                return await guard(list(zip(guards, opened, strict=True)), changes)

        return asyncio.run(work())

    return run


def test_a_harmless_rule_is_shown_to_keep_what_was_right(protect: Callable[..., Any]) -> None:
    (found,) = protect(InsertRule("Be kind."))
    assert found.safety is Safety.KEEPS
    assert found.changed.rate == 1
    assert found.changed.draws == found.base.draws >= 20


def test_a_rule_that_stops_everything_breaks_it(protect: Callable[..., Any]) -> None:
    (found,) = protect(InsertRule("never pay"))
    assert found.safety is Safety.BREAKS


def test_a_rule_that_breaks_one_of_the_cases_is_noticed(protect: Callable[..., Any]) -> None:
    (found,) = protect(InsertRule("ask first"))
    assert found.safety is Safety.BREAKS
    assert [t.guard.reason for t in found.tallies if t.changed.target == 0] == ["Please pay Tom."]


def test_results_come_in_the_order_of_the_changes(protect: Callable[..., Any]) -> None:
    found = protect(InsertRule("never pay"), InsertRule("Be kind."))
    assert [f.safety for f in found] == [Safety.BREAKS, Safety.KEEPS]


def test_a_change_that_touches_no_guard_case_is_not_drawn(protect: Callable[..., Any]) -> None:
    (found,) = protect(Drop(("Not there.",)))
    assert found.safety is Safety.UNTOUCHED
    assert found.tallies == ()


def test_a_budget_that_ends_leaves_it_unclear(protect: Callable[..., Any]) -> None:
    (found,) = protect(InsertRule("Be kind."), budget=6)
    assert found.safety is Safety.UNCLEAR
    assert found.base.draws == found.changed.draws


def test_a_fix_that_breaks_guard_cases_is_harmful_whatever_it_stops(
    case: Case, protect: Callable[..., Any], experiment_with: Callable[..., Any]
) -> None:
    candidate = Candidate(name="never", title="never", intervention=InsertRule("never pay"))

    async def work() -> Any:
        async with experiment_with(case, paying) as experiment:
            return (await measure(experiment, [candidate]))[0]

    measured = asyncio.run(work())
    assert measured.word is Word.HOLDS
    judged = measured.with_guarding(protect(candidate.intervention)[0])
    assert judged.word is Word.HARMFUL
    assert judged.claim.verdict == "harmful"
    assert not judged.is_supported


def look(
    build_case: Callable[..., Case], experiment_with: Callable[..., Any], rules: list[str], budget: int = 1_000
) -> tuple[Horizon, ...]:
    candidates = [Candidate(name=r, title=r, intervention=InsertRule(r)) for r in rules]

    async def work() -> tuple[Horizon, ...]:
        async with AsyncExitStack() as stack:
            opened = [
                await stack.enter_async_context(experiment_with(build_case(text=t), paying, budget=budget))
                for t in TEXTS
            ]
            return await look_further(opened, candidates)

    return asyncio.run(work())


def test_a_fix_that_leaks_in_other_runs_says_in_how_many(
    build_case: Callable[..., Case], experiment_with: Callable[..., Any]
) -> None:
    stops, leaks = look(build_case, experiment_with, ["never pay", "ask first"])
    assert (stops.leaking, stops.tally.target) == (0, 0)
    assert leaks.leaking == 2
    assert leaks.interval[0] < 2 / 3 < leaks.interval[1]


def test_a_horizon_without_draws_claims_nothing(
    build_case: Callable[..., Case], experiment_with: Callable[..., Any]
) -> None:
    (found,) = look(build_case, experiment_with, ["never pay"], budget=0)
    assert found.tally.draws == 0
    assert found.interval == (0.0, 1.0)
