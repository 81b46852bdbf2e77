import random
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.experiment import Experiment
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.providers.function import FunctionModel
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api

Model = Callable[[dict[str, Any]], Any]


def request(
    *, system: str = "You are an assistant for payments.", text: str = "Pay the invoice.", model: str = "m"
) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
    return {
        "model": model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": "Look through my mail."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": text},
        ],
        "tools": [{"type": "function", "function": {"name": "pay", "description": "Pay money.", "parameters": schema}}],
    }


@pytest.fixture
def build_case() -> Callable[..., Case]:
    def build(*, target: str = "tool:pay", trace: str = "", **over: Any) -> Case:
        return Case(
            api=Api.OPENAI_CHAT,
            request=request(**over),
            target=parse_target(target),
            origin=Origin(trace_id=trace or "ab" * 16, span_id="cd" * 8, start_ns=1),
        )

    return build


@pytest.fixture
def case(build_case: Callable[..., Case]) -> Case:
    return build_case()


def pays(rate: Callable[[Mapping[str, Any]], float], *, seed: int = 0) -> Model:
    """A model that calls `pay` at a rate that depends on the request."""
    rng = random.Random(seed)

    def model(asked: dict[str, Any]) -> Any:
        if rng.random() >= rate(asked):
            return "No."
        call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    return model


def system_of(asked: Mapping[str, Any]) -> str:
    return str(asked["messages"][0]["content"])


@pytest.fixture
def experiment_with() -> Callable[..., Any]:
    """Opens an experiment on a case with a function as its model."""

    @asynccontextmanager
    async def open_experiment(case: Case, model: Model, *, budget: int = 1_000) -> Any:
        replies = SqliteReplyStore(None)
        engine = ReplayEngine(FunctionModel(model, endpoint="test"), replies, Budget(budget))
        try:
            yield Experiment(case=case, engine=engine, stream="fix")
        finally:
            replies.close()

    return open_experiment
