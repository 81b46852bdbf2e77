import asyncio
from collections.abc import Sequence

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.judging import ATTEMPTS, judge, judge_request
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import JudgeTarget
from whyspan.ingest.calls import Api, Body, ModelReply, ToolCall
from whyspan.ingest.errors import UpstreamError

QUESTION = JudgeTarget("Does it pay?")
REPLY = ModelReply(text="Paid.", tool_calls=(ToolCall(name="pay", arguments="{}"),))


class Judge:
    endpoint = "judge"
    batch = 1

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[Body] = []

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        self.asked.append(request)
        return [Completion(reply=ModelReply(text=self._answers.pop(0)))]

    async def aclose(self) -> None:
        """Nothing to release."""


def verdict(model: Judge, budget: int = 9) -> bool | None:
    case = Case(api=Api.OPENAI_CHAT, request={"model": "m", "messages": []}, target=QUESTION)
    engine = ReplayEngine(model, SqliteReplyStore(None), Budget(budget))
    return asyncio.run(judge(engine, case, QUESTION, REPLY))


@pytest.mark.parametrize(
    ("answer", "expected"), [("yes", True), ("No.", False), ("**Yes**, it does", True), (" no, never", False)]
)
def test_a_judge_says_yes_or_no(answer: str, expected: bool) -> None:
    assert verdict(Judge(answer)) is expected


def test_a_judge_that_wavers_is_asked_again() -> None:
    assert verdict(Judge("Perhaps.", "Yes.")) is True


def test_a_judge_that_never_decides_is_an_error() -> None:
    with pytest.raises(UpstreamError, match="neither yes nor no but 'Hm'"):
        verdict(Judge(*["Hm"] * ATTEMPTS))


def test_a_judge_counts_against_the_budget() -> None:
    assert verdict(Judge("yes"), budget=0) is None


@pytest.mark.parametrize("api", list(Api))
def test_a_judge_is_asked_in_the_form_of_the_api(api: Api) -> None:
    case = Case(api=api, request={"model": "m"}, target=QUESTION)
    request = judge_request(case, QUESTION.question, REPLY)
    assert request["model"] == "m"
    assert "Does it pay?" in str(request)
    assert "pay" in str(request)
    assert ("max_tokens" in request) is (api is Api.ANTHROPIC_MESSAGES)
