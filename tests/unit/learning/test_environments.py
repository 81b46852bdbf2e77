"""Environments are played until they are over, and what is wrong with one is an error, never a score."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from exchanges import exchange

from whyspan.analysis.fields import with_user_message
from whyspan.analysis.learning.play.environments import EnvironmentSpec, read_environment, roll_out
from whyspan.analysis.learning.play.exchanges import Exchange
from whyspan.analysis.learning.scenarios.scenario import read_scenario
from whyspan.analysis.learning.scoring.scores import Score
from whyspan.analysis.policy import NO_POLICY, Policy
from whyspan.analysis.targets import parse_target
from whyspan.analysis.yaml_files import read_table
from whyspan.ingest.calls import Api, Body
from whyspan.ingest.errors import FormatError

COUNTING = """\
class Environment:
    def reset(self, given):
        self.left = given["n"]
        return f"{self.left} left"

    def step(self, action):
        self.left -= 1
        return f"{self.left} left" if self.left else None

    def score(self):
        return {"score": float(self.left == 0), "metrics": {"left": self.left}}
"""


def write(folder: Path, code: str, more: str = "") -> EnvironmentSpec:
    (folder / "world.py").write_text(code)
    (folder / "scenario.yaml").write_text(f"environment: {{module: world{more}}}\n")
    return read_environment(read_table(folder / "scenario.yaml").table("environment"))


def play(spec: EnvironmentSpec, answers: Sequence[str], *, policy: Policy = NO_POLICY) -> tuple[list[Body], Score]:
    asked: list[Body] = []

    async def ask(request: Body) -> Exchange:
        asked.append(request)
        return exchange(answers[len(asked) - 1])

    def begin(message: str) -> Body:
        return with_user_message(Api.OPENAI_CHAT, {"model": "m"}, message)

    _, score = asyncio.run(roll_out(spec, {"n": 3}, begin, ask, api=Api.OPENAI_CHAT, policy=policy))
    return asked, score


def test_a_conversation_grows_until_the_environment_ends_it(tmp_path: Path) -> None:
    asked, score = play(write(tmp_path, COUNTING), ["a", "b", "c", "never asked"])
    assert [m["content"] for m in asked[-1]["messages"]] == ["3 left", "a", "2 left", "b", "1 left"]
    assert (score.score, score.metrics) == (1.0, {"left": 0})


def test_turns_are_limited(tmp_path: Path) -> None:
    asked, score = play(write(tmp_path, COUNTING, ", turns: 2"), ["a", "b", "c"])
    assert (len(asked), score.score) == (2, 0.0)


def test_an_answer_that_breaks_the_policy_is_not_carried_out(tmp_path: Path) -> None:
    policy = Policy(never=(parse_target("text:/wipe/"),))
    asked, score = play(write(tmp_path, COUNTING), ["a", "wipe it", "c"], policy=policy)
    assert len(asked) == 2
    assert (score.score, score.feedback) == (0.0, ("the policy forbids it: never text:/wipe/",))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("self.left -= 1", "self.left / 0", "environment: it raised ZeroDivisionError"),
        ('"score": float(self.left == 0)', '"score": 7', "environment: it gave"),
        ('return f"{self.left} left"\n\n', "return 3\n\n", "3 is no message"),
        ("class Environment", "class World", "has no 'Environment'"),
        ("class Environment", "import nothing_of_this_name\nclass Environment", "cannot be imported"),
    ],
)
def test_an_environment_that_fails_is_an_error(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        play(write(tmp_path, COUNTING.replace(old, new)), ["a", "b", "c"])


SCENARIO: dict[str, Any] = {
    "name": "s",
    "proposer": "{provider: rules, model: 'm.py:f'}",
    "cases": "cases.json",
}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("family: game\nevaluator: {predicate: 'never tool:x'}\n", "environment: is missing: it scores a scenario of"),
        ("family: agent_task\n", "evaluator: is missing"),
        ("environment: {module: world}\nevaluator: {predicate: 'never tool:x'}\n", "give one of the two"),
        ("environment: {module: world, turn: 3}\n", "environment.turn: there is no such field"),
    ],
)
def test_a_scenario_is_scored_in_one_way(tmp_path: Path, more: str, said: str) -> None:
    (tmp_path / "cases.json").write_text("{}")
    text = "".join(f"{key}: {value}\n" for key, value in SCENARIO.items())
    (tmp_path / "scenario.yaml").write_text(text + more)
    with pytest.raises(FormatError, match=said):
        read_scenario(tmp_path)
