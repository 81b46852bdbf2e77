"""From a real agent's trace in a real server to an explanation, and back into that server."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from traced_agent import SCENARIO, run_agent

from whyspan.cli.demo.standin import serve_standin
from whyspan.collector.background import running_collector

pytestmark = pytest.mark.skipif("WHYSPAN_INTEGRATION" not in os.environ, reason="run tests/integration/run.py")


@dataclass(frozen=True)
class Server:
    """How the agent sends to a server, and how many runs it shows."""

    name: str
    url: str
    headers: Mapping[str, str]
    resource: Mapping[str, str]
    count: Callable[[str], int]
    """URL → runs to be seen."""


def phoenix_runs(url: str) -> int:
    answer = httpx.get(f"{url}/v1/projects/integration/spans/otlpv1", params={"limit": 1000})
    spans = answer.json()["data"] if answer.is_success else []
    return len({span["trace_id"] for span in spans if span["parent_span_id"] is None})


def mlflow_runs(url: str) -> int:
    location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}
    answer = httpx.post(f"{url}/api/3.0/mlflow/traces/search", json={"locations": [location], "max_results": 100})
    return len(answer.json().get("traces", []))


def servers() -> dict[str, Server]:
    return {
        "phoenix": Server(
            "phoenix",
            os.environ.get("PHOENIX_BASE_URL", ""),
            {},
            {"openinference.project.name": "integration"},
            phoenix_runs,
        ),
        "mlflow": Server(
            "mlflow", os.environ.get("MLFLOW_TRACKING_URI", ""), {"x-mlflow-experiment-id": "0"}, {}, mlflow_runs
        ),
    }


@dataclass
class World:
    """A server that has recorded the agent's failure, a store, and the model."""

    server: Server
    store: Path
    model_url: str

    def whyspan(self, *words: str) -> Any:
        """Runs a command and returns its JSON document."""
        command = [sys.executable, "-m", "whyspan", "--store", str(self.store), *words, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["phoenix", "mlflow"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    server = servers()[request.param]
    with serve_standin(seed=0) as model_url:
        before = server.count(server.url)
        runs = 0
        while True:
            runs += 1
            if run_agent(model_url, f"{server.url}/v1/traces", server.headers, server.resource):
                break
            assert runs < 10, "the agent never misbehaved"
        wait_until(lambda: server.count(server.url) >= before + runs)
        yield World(server, tmp_path_factory.mktemp(server.name) / "store", model_url)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the server does not show what it took"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def claims(world: World) -> int:
    """How many claims there are about the agent's failure, once it is imported and explained."""
    imported = world.whyspan("import", world.server.name)
    assert imported["spans"] > 3
    assert imported["rejected"] == 0
    report = world.whyspan("why", "last", f"tool:{SCENARIO.failure}", "--base-url", world.model_url)
    assert any(claim["verdict"] == "supported" for claim in report["claims"])
    return len(report["claims"])


def test_a_claim_goes_back_once_and_is_read_back(world: World, claims: int) -> None:
    name = world.server.name
    shown = world.whyspan("writeback", "last", "--to", name, "--dry-run")
    assert len(shown["requests"]) == 2 * claims

    sent = world.whyspan("writeback", "last", "--to", name, "--verify")
    assert (sent["sent"], sent["verified"], sent["lost"]) == (len(shown["requests"]), len(shown["requests"]), 0)

    again = world.whyspan("writeback", "last", "--to", name, "--verify")
    assert (again["sent"], again["known"], again["verified"]) == (0, sent["sent"], sent["sent"])

    (world.store / "outbox.sqlite").unlink()
    resent = world.whyspan("writeback", "last", "--to", name, "--verify")
    assert (resent["sent"], resent["verified"]) == (sent["sent"], sent["sent"])


def test_requests_that_went_through_the_server_are_whole(world: World) -> None:
    world.whyspan("import", world.server.name)
    command = [sys.executable, "-m", "whyspan", "--store", str(world.store), "calls", "--all", "--json"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    calls = [call for call in map(json.loads, lines) if call["model"] == "standin-refund"]
    assert len(calls) >= 3
    assert {call["completeness"]["grade"] for call in calls} <= {"exact", "semantic"}
    assert all(call["request"]["messages"][0]["content"] == SCENARIO.system for call in calls)
    assert all(call["request"]["tools"] for call in calls)


@pytest.mark.usefixtures("claims")
def test_a_claim_as_a_span_is_taken_too_and_not_imported_again(world: World) -> None:
    headers = ",".join(f"{key}={value}" for key, value in world.server.headers.items())
    environ = {"OTEL_EXPORTER_OTLP_HEADERS": headers}
    command = [sys.executable, "-m", "whyspan", "--store", str(world.store), "writeback", "last"]
    subprocess.run(
        [*command, "--endpoint", world.server.url], env={**os.environ, **environ}, check=True, capture_output=True
    )
    fresh = World(world.server, world.store.parent / "fresh", world.model_url)
    fresh.whyspan("import", world.server.name)
    rows = fresh.whyspan("sql", "SELECT count(*) AS n FROM claims")["rows"]
    assert rows in ([{"n": 0}], [[0]])


@pytest.mark.parametrize("version", [3, 4, 5])
def test_the_langfuse_sdk_sends_to_our_collector(version: int, tmp_path: Path) -> None:
    python = Path(os.environ["WHYSPAN_INTEGRATION"]) / f"langfuse{version}" / "bin" / "python"
    with serve_standin(seed=0) as model_url, running_collector(tmp_path / "store") as collector:
        keys = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-1"}
        hosts = {"LANGFUSE_HOST": collector.http_endpoint, "LANGFUSE_BASE_URL": collector.http_endpoint}
        agent = Path(__file__).parent / "langfuse_agent.py"
        done = subprocess.run(
            [python, agent, model_url], env={**os.environ, **keys, **hosts}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "whyspan", "--store", str(tmp_path / "store"), "calls", "--all", "--json"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    (call,) = [json.loads(line) for line in lines]
    assert call["trace_id"] == done.stdout.strip()
    assert [message["role"] for message in call["request"]["messages"]] == ["system", "user", "assistant", "tool"]
    assert call["request"]["tools"][0]["function"]["name"] == "get_weather"
    assert call["request"]["temperature"] == 0.5
