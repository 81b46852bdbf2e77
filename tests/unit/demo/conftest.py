import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider

from whyspan.cli.demo.agent import Scenario, define, run
from whyspan.cli.demo.models import Message, Reply
from whyspan.cli.demo.policies import POLICIES
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import Standin, draw

Request = dict[str, Any]
DRAWS = 300


class InProcess:
    """The stand-in without HTTP."""

    provider = "openai"
    temperature = 1.0
    separates_system = False
    base_url = httpx.URL("http://127.0.0.1:1/v1")

    def __init__(self, scenario: Scenario, *, seed: int) -> None:
        self.name = f"standin-{scenario.name}"
        self._standin = Standin(seed)

    def complete(self, messages: Sequence[Message], tools: Sequence[Message]) -> Reply:
        answer = self._standin.complete({"model": self.name, "messages": list(messages), "tools": list(tools)})
        choice = answer["choices"][0]
        return Reply(id=answer["id"], model=self.name, message=choice["message"], finish_reason=choice["finish_reason"])


def decision_of(scenario: Scenario) -> Request:
    """Returns the request whose reply was the failure, from the first seed that fails."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    for seed in range(20):
        messages = run(scenario, InProcess(scenario, seed=seed), tracer).messages
        for at, message in enumerate(messages):
            if any(call["function"]["name"] == scenario.failure for call in message.get("tool_calls") or ()):
                tools = [define(tool) for tool in scenario.tools]
                return {"model": f"standin-{scenario.name}", "messages": list(messages[:at]), "tools": tools}
    raise AssertionError(f"{scenario.name} never failed")


DECISIONS = {name: decision_of(scenario) for name, scenario in SCENARIOS.items()}


@pytest.fixture
def decision() -> Callable[[str], Request]:
    """Gives a scenario's failing request, free to be changed."""
    return lambda name: copy.deepcopy(DECISIONS[name])


@pytest.fixture
def outcomes() -> Callable[[Request], dict[str, float]]:
    """Gives the share of replies that call each tool; `asks` and `says` are replies in words."""

    def sample(request: Request) -> dict[str, float]:
        counts: Counter[str] = Counter()
        for seed in range(DRAWS):
            message = draw(POLICIES[request["model"]], request, Random(seed))
            names = {call["function"]["name"] for call in message.get("tool_calls", ())}
            counts.update(names or {"asks" if "?" in message["content"] else "says"})
        return defaultdict(float, {name: count / DRAWS for name, count in counts.items()})

    return sample
