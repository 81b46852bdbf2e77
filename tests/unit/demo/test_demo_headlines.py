import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from whyspan.analysis.attribution.problem import Options
from whyspan.analysis.attribution.why import WhyReport, explain
from whyspan.analysis.cases import Case
from whyspan.analysis.experiment import Experiment
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.providers.function import FunctionModel
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import Standin
from whyspan.ingest.calls import Api

SEEDS = range(20)


async def why(question: Case, seed: int) -> WhyReport:
    replies = SqliteReplyStore(None)
    engine = ReplayEngine(FunctionModel(Standin(seed).complete, endpoint="standin"), replies, Budget(200))
    try:
        return await explain(Experiment(case=question, engine=engine, stream="why"), Options())
    finally:
        replies.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_headline_is_the_planted_sentence_for_nearly_every_seed(
    name: str, decision: Callable[[str], dict[str, Any]]
) -> None:
    target = parse_target(SCENARIOS[name].event)
    question = Case(api=Api.OPENAI_CHAT, request=decision(name), target=target)
    reports = [asyncio.run(why(question, seed)) for seed in SEEDS]
    named = [report.headline is not None and SCENARIOS[name].planted in report.headline.subject for report in reports]
    assert sum(named) >= 19, [seed for seed, hit in zip(SEEDS, named, strict=True) if not hit]
