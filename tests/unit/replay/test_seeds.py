import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.replay.seeds import has_seed, with_seed_of_sample
from whyspan.ingest.calls import Body, ModelReply


class Seeded:
    """Says the same for the same seed, as servers do."""

    endpoint = "seeded"
    batch = 8

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        return [Completion(reply=ModelReply(text=str(request["seed"])))] * count

    async def aclose(self) -> None:
        """Nothing to release."""


@pytest.mark.parametrize(
    "request_body", [{"seed": 42}, {"generationConfig": {"seed": 42}}, {"options": {"seed": 42, "top_k": 1}}]
)
def test_each_sample_has_a_seed_of_its_own_that_never_changes(request_body: dict[str, Any]) -> None:
    assert has_seed(request_body)
    seeded = [str(with_seed_of_sample(request_body, n)) for n in range(100)]
    assert len(set(seeded)) == 100
    assert seeded == [str(with_seed_of_sample(request_body, n)) for n in range(100)]


@pytest.mark.parametrize("request_body", [{}, {"seed": None}, {"options": {}}])
def test_a_request_without_a_seed_stays_as_it_is(request_body: dict[str, Any]) -> None:
    assert not has_seed(request_body)
    assert with_seed_of_sample(request_body, 3) is request_body


def test_samples_of_a_request_with_a_seed_do_not_repeat_each_other() -> None:
    engine = ReplayEngine(Seeded(), SqliteReplyStore(None), Budget(20))
    found = asyncio.run(engine.sample({"model": "m", "seed": 7}, 0, 20))
    assert len({stored.completion.reply.text for stored, _ in found}) == 20
