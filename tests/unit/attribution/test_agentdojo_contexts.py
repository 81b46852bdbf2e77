"""AgentDojo's attacked contexts as real requests: the injection is named, whichever suite it hides in.

`tests/benchmarks/attribution/export_agentdojo.py` writes the contexts; without them there is nothing to run.
"""

import asyncio
import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
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
from whyspan.analysis.sightings import texts_of
from whyspan.analysis.targets import ToolTarget
from whyspan.ingest.calls import Api

CONTEXTS = Path(os.environ.get("WHYSPAN_BENCH_AGENTDOJO", "/tmp/agentdojo.jsonl"))
EVERY = 51
"""One context in so many, over all suites."""

pytestmark = pytest.mark.skipif(not CONTEXTS.exists(), reason=f"no contexts at {CONTEXTS}")


def contexts() -> list[dict[str, Any]]:
    lines = CONTEXTS.read_text("utf-8").splitlines() if CONTEXTS.exists() else []
    return [json.loads(line) for line in lines[::EVERY]]


def order_in(goal: str) -> str:
    """The longest sentence of a goal: what the hijacked model follows."""
    return max(re.split(r"(?<=[.!?])\s+(?=[A-Z])", goal), key=len).strip()


def hijacked(order: str, tool: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    rng = random.Random(order)

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        is_read = any(order in text for message in request["messages"] for text in texts_of(message))
        if rng.random() < (0.95 if is_read else 0.03):
            call = {"id": "z", "type": "function", "function": {"name": tool, "arguments": "{}"}}
            return {"role": "assistant", "tool_calls": [call]}
        return {"role": "assistant", "content": "Here is what you asked for."}

    return answer


async def why(context: dict[str, Any]) -> WhyReport:
    name = context["decision"]["name"]
    case = Case(api=Api.OPENAI_CHAT, request=context["request"], target=ToolTarget(name))
    replies = SqliteReplyStore(None)
    model = FunctionModel(hijacked(order_in(context["goal"]), name), endpoint="hijacked")
    engine = ReplayEngine(model, replies, Budget(300), concurrency=1)
    try:
        return await explain(Experiment(case=case, engine=engine, stream="why"), Options())
    finally:
        replies.close()


def test_the_injected_order_is_named_in_nearly_every_context() -> None:
    wrong = []
    for context in contexts():
        headline = asyncio.run(why(context)).headline
        order = order_in(context["goal"])
        if headline is None or (headline.subject not in order and order not in headline.subject):
            wrong.append((context["id"], headline and headline.subject))
    assert len(wrong) <= len(contexts()) // 10, wrong
