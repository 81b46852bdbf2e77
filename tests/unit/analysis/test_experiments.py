"""An experiment that is done again: its samples come again, and its cap is the same one."""

import asyncio
from typing import Any

import pytest

from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.experiment import Experiment
from whyspan.analysis.interventions import Noop
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.providers.function import FunctionModel
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api

CASE = Case(
    api=Api.OPENAI_CHAT,
    request={"model": "m", "messages": [{"role": "user", "content": "Hello."}]},
    target=parse_target("no-tool"),
    origin=Origin(trace_id="ab" * 16, span_id="cd" * 8, start_ns=1),
)
OTHER = {**CASE.request, "temperature": 0.5}


@pytest.mark.parametrize(
    ("cap", "drawn", "paid"), [(None, (4, 9, 5), 14), (10, (4, 9, 1), 10), (6, (4, 6, 0), 6), (4, (4, 4, 0), 4)]
)
def test_what_is_drawn_again_counts_once_against_the_cap(
    cap: int | None, drawn: tuple[int, int, int], paid: int
) -> None:
    asked: list[Any] = []

    def model(request: dict[str, Any]) -> str:
        asked.append(request)
        return "Hi."

    async def draw() -> tuple[int, int, int]:
        replies = SqliteReplyStore(None)
        engine = ReplayEngine(FunctionModel(model, endpoint="test"), replies, Budget(100))
        first = Experiment(case=CASE, engine=engine, stream="why", cap=cap)
        one = await first.draw(Noop(), 4)
        again = first.again()
        two = await again.draw(Noop(), 9)
        three = await again.draw(Noop(), 5, request=OTHER)
        replies.close()
        return len(one), len(two), len(three)

    assert asyncio.run(draw()) == drawn
    assert len(asked) == paid
