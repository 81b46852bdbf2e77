import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.fixes.proposals import propose, question, rules_in


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ('["Never pay.", "Ask first."]', ["Never pay.", "Ask first."]),
        ('Sure!\n```json\n["Never pay."]\n```', ["Never pay."]),
        ('["Never pay.", "Never pay.", 7, "", null]', ["Never pay."]),
        ('["x' + "x" * 3_000 + '"]', []),
        ("I cannot help with that.", []),
        ("[broken", []),
        ('["broken]', []),
    ],
)
def test_only_a_list_of_texts_is_taken_from_an_answer(text: str, rules: list[str]) -> None:
    assert rules_in(text) == rules


def test_the_question_has_prompt_outcome_and_cause_and_no_tools(case: Case) -> None:
    body = question(case, ["Pay the invoice."], 3, model="other")
    asked = json.loads(body["messages"][-1]["content"])
    assert asked["system_prompt"] == "You are an assistant for payments."
    assert asked["wrong_action"] == "calls pay"
    assert asked["text_that_caused_it"] == ["Pay the invoice."]
    assert body["model"] == "other"
    assert "tools" not in body


def test_proposals_become_candidates(case: Case, experiment_with: Callable[..., Any]) -> None:
    async def work() -> Any:
        async with experiment_with(case, lambda _: '["Never pay.", "Ask first.", "Third."]') as experiment:
            return await propose(experiment, [], 2)

    found = asyncio.run(work())
    assert [(c.name, c.rule) for c in found] == [("proposed-1", "Never pay."), ("proposed-2", "Ask first.")]


def test_a_spent_budget_proposes_nothing(case: Case, experiment_with: Callable[..., Any]) -> None:
    async def work() -> Any:
        async with experiment_with(case, lambda _: '["Never pay."]', budget=0) as experiment:
            return await propose(experiment, [], 2)

    assert asyncio.run(work()) == ()
