"""Decisions of a real model, replayed through the engine: `WHYSPAN_TEST_MODEL_URL=http://127.0.0.1:8911/v1 pytest …`.

docs/local-model.md serves the model that the figures were measured on.
"""

import asyncio
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.logprobs import Odds, forced_odds
from whyspan.analysis.replay.models import choose_model
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api

URL = os.environ.get("WHYSPAN_TEST_MODEL_URL", "")
CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "realmodel" / "cases.json").read_text("utf-8"))
DRAWS = 60
TOLERANCE = 0.05
"""How far log-probabilities of one model differ between machines and batches; measured, see `base_repeat`."""

pytestmark = [
    pytest.mark.skipif(not URL, reason="WHYSPAN_TEST_MODEL_URL is not set"),
    pytest.mark.parametrize("measured", CASES, ids=lambda c: c["id"]),
]


def case(measured: dict[str, Any]) -> Case:
    predicate = measured["predicate"]
    pattern = rf"^\W*{predicate['value']}\b"
    if predicate["type"] == "json_field":
        pattern = rf'"{predicate["field"]}"\s*:\s*"{predicate["value"]}"'
    return Case(api=Api.OPENAI_CHAT, request=measured["request"], target=parse_target(f"text:/{pattern}/"))


def test_sampling_reproduces_the_measured_probability(measured: dict[str, Any]) -> None:
    question = case(measured)

    async def hits() -> int:
        provider = choose_model(base_url=URL).open(question)
        engine = ReplayEngine(provider, SqliteReplyStore(None), Budget(DRAWS), concurrency=4)
        try:
            found = await engine.sample(question.request, 0, DRAWS)
        finally:
            await provider.aclose()
        return sum(question.target.matches(stored.completion.reply) for stored, _ in found)

    expected = measured["base"]
    error = math.sqrt(expected * (1 - expected) / DRAWS) + TOLERANCE / 3
    assert abs(asyncio.run(hits()) / DRAWS - expected) < 3.5 * error


def test_log_probabilities_reproduce_the_measured_probability(measured: dict[str, Any]) -> None:
    question = case(measured)

    async def odds() -> Odds | None:
        provider = choose_model(base_url=URL).open(question)
        engine = ReplayEngine(provider, SqliteReplyStore(None), Budget(2))
        try:
            return await forced_odds(engine, question)
        finally:
            await provider.aclose()

    found = asyncio.run(odds())
    assert found is not None
    assert abs(found.probability - measured["base"]) < TOLERANCE
    assert sum(found.options.values()) == pytest.approx(1)
