import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from whyspan.analysis.attribution.problem import Role
from whyspan.analysis.cases import Case
from whyspan.analysis.fields import system_prompt, text_fields
from whyspan.analysis.fixes.proposals import INSTRUCTION, propose, question, rules_in
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api


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


BODIES: dict[Api, dict[str, Any]] = {
    Api.OPENAI_RESPONSES: {"instructions": "Help.", "input": "Hi."},
    Api.ANTHROPIC_MESSAGES: {"max_tokens": 9, "system": "Help.", "messages": [{"role": "user", "content": "Hi."}]},
    Api.GEMINI_GENERATE: {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]},
    Api.BEDROCK_CONVERSE: {"messages": [{"role": "user", "content": [{"text": "Hi."}]}]},
    Api.OLLAMA_CHAT: {"messages": [{"role": "user", "content": "Hi."}]},
}


@pytest.mark.parametrize("api", BODIES)
def test_the_question_is_asked_in_the_form_of_every_api(api: Api) -> None:
    case = Case(api=api, request={"model": "m", **BODIES[api]}, target=parse_target("tool:pay"))
    body = question(case, ["x"], 2)
    assert system_prompt(api, body) == INSTRUCTION
    (asked,) = [f.text for f in text_fields(api, body) if f.role is Role.USER]
    assert json.loads(asked)["number_of_rules"] == 2
    assert body.get("max_tokens") == BODIES[api].get("max_tokens")
