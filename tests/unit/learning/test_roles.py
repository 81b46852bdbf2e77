"""Roles turn what went wrong into proposals: by rules without a model, by a model's answer with one."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from exchanges import exchange

from whyspan.analysis.learning.lessons.lesson import Lesson
from whyspan.analysis.learning.lessons.roles import Observation, analyse, architect, coach, curate
from whyspan.analysis.learning.play.engines import Ask
from whyspan.analysis.learning.play.exchanges import Exchange
from whyspan.analysis.learning.play.players import Player
from whyspan.analysis.learning.play.plays import Play
from whyspan.analysis.learning.scenarios.scenario import Scenario, ScenarioCase
from whyspan.analysis.learning.scoring.scores import Score
from whyspan.analysis.learning.solving import inline_scenario

MODEL = Player(provider="openai", model="m")
SCENARIO = inline_scenario("a customer writes", MODEL, rubric="", predicate="always text:/x/")


def make_play(score: float, *feedback: str, case: str = "a") -> Play:
    return Play(
        scenario="s", epoch="e", case=ScenarioCase(name=case, input={"n": case}), bundle="", sample=0,
        exchanges=(exchange("hello"),), score=Score(score=score, feedback=feedback),
    )  # fmt: skip


def with_model(*roles: str) -> Scenario:
    return replace(SCENARIO, roles=dict.fromkeys(roles, MODEL))


def saying(answer: str) -> Ask:
    async def ask(player: Player, text: str) -> Exchange:
        assert "never an instruction" in text
        return exchange(answer)

    return ask


async def nobody(player: Player, text: str) -> Exchange:
    raise AssertionError("no model was configured")


def test_without_a_model_the_most_frequent_feedback_of_failures_comes_first() -> None:
    plays = [make_play(0.0, "b", "a"), make_play(0.5, "a"), make_play(1.0, "c")]
    observed = asyncio.run(analyse(SCENARIO, plays, nobody))
    assert observed == [Observation(text="a", plays=2), Observation(text="b", plays=1)]
    rules = asyncio.run(coach(SCENARIO, observed, [], nobody))
    assert [rule.text for rule in rules] == ["When a customer writes: a", "When a customer writes: b"]


def test_without_a_model_noise_suggests_a_lower_temperature() -> None:
    noisy = [make_play(0.0), make_play(1.0)]
    assert [s.text for s in asyncio.run(architect(SCENARIO, noisy, nobody))] == ["set temperature to 0"]
    assert asyncio.run(architect(SCENARIO, [make_play(0.0), make_play(1.0, case="b")], nobody)) == []
    calm = replace(SCENARIO, proposer=replace(MODEL, parameters={"temperature": 0}))
    assert asyncio.run(architect(calm, noisy, nobody)) == []


def test_a_coach_that_is_a_model_answers_with_rules() -> None:
    answer = 'Here:\n```json\n[{"condition": "c", "action": " do it ", "rationale": "r"}, {"action": ""}, 3]\n```'
    observed = [Observation(text="a", plays=1)]
    (rule,) = asyncio.run(coach(with_model("coach"), observed, [], saying(answer)))
    assert (rule.condition, rule.action, rule.rationale) == ("c", "do it", "r")


@pytest.mark.parametrize("answer", ["", "no idea", "[1, 2", '{"action": "x"}'])
def test_an_answer_that_is_no_list_proposes_nothing(answer: str) -> None:
    observed = [Observation(text="a", plays=1)]
    assert asyncio.run(coach(with_model("coach"), observed, [], saying(answer))) == []
    assert asyncio.run(architect(with_model("architect"), [make_play(0.0)], saying(answer))) == []
    assert asyncio.run(analyse(with_model("analyst"), [make_play(0.0)], saying(answer))) == []


RULES = [Lesson(action="be brief"), Lesson(action="be kind"), Lesson(action="keep it short")]


def merged(answer: str) -> list[str]:
    return [rule.text for rule in asyncio.run(curate(with_model("curator"), RULES, saying(answer)))]


def test_a_curator_merges_rules_that_say_the_same() -> None:
    answer = '[{"numbers": [0, 2, 2, 9], "condition": "asked", "action": "be short"}]'
    assert merged(answer) == ["When asked: be short", "be kind"]
    assert asyncio.run(curate(SCENARIO, RULES, nobody)) == RULES


NO_GROUPS = (
    "", "[]", '[{"numbers": [[1], "2", 1], "action": "x"}]', '[{"numbers": [0, 2]}]', '[{"numbers": 2, "action": "x"}]',
)  # fmt: skip


@pytest.mark.parametrize("answer", NO_GROUPS)
def test_a_curator_can_do_nothing_else(answer: str) -> None:
    assert merged(answer) == [rule.text for rule in RULES]


def test_an_architect_cannot_change_what_is_no_parameter() -> None:
    values = [{"parameter": "messages", "value": []}, {"parameter": "top_p", "value": 0.5}]
    found = asyncio.run(architect(with_model("architect"), [make_play(0.0)], saying(json.dumps(values))))
    assert [s.text for s in found] == ["set top_p to 0.5"]


def ids(cases: Sequence[ScenarioCase]) -> set[str]:
    return {case.id for case in cases}


def test_cases_keep_their_side_when_others_are_added() -> None:
    cases = tuple(ScenarioCase(name=str(n), input={"n": n}, heldout=n % 7 == 0) for n in range(60))
    small, large = (replace(SCENARIO, cases=chosen, folder=Path()) for chosen in (cases[:30], cases))
    assert ids(small.explored) <= ids(large.explored)
    assert not ids(large.explored) & ids(large.confirming)
    assert not ids(large.heldout) & (ids(large.explored) | ids(large.confirming))
    assert len(large.cases) == len(large.explored) + len(large.confirming) + len(large.heldout)
