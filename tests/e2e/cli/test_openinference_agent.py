"""A foreign agent: the OpenAI client, traced by OpenInference, exported by the SDK, explained unchanged."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from traced_agent import SCENARIO, run_agent

from whyspan.cli.demo.standin import serve_standin
from whyspan.collector.background import running_collector


def whyspan(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whyspan", "--store", str(store), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A store that holds a run of the agent, and the model's URL; seeds are tried until the agent misbehaves."""
    root = tmp_path_factory.mktemp("openinference")
    for seed in range(5):
        store = root / f"store-{seed}"
        with serve_standin(seed=seed) as base_url, running_collector(store) as collector:
            if run_agent(base_url, f"{collector.http_endpoint}/v1/traces", {}, {}):
                yield store, base_url
                return
    pytest.fail("no seed made the agent misbehave")


def test_its_calls_are_rebuilt_as_they_were_sent(world: tuple[Path, str]) -> None:
    store, _ = world
    calls = [json.loads(line) for line in whyspan(store, "calls", "--json").stdout.splitlines()]
    assert len(calls) >= 3
    assert {c["completeness"]["grade"] for c in calls} == {"exact"}
    assert calls[0]["request"]["messages"][0] == {"role": "system", "content": SCENARIO.system}


def test_why_names_the_planted_sentence(world: tuple[Path, str]) -> None:
    store, base_url = world
    done = whyspan(store, "why", "last", SCENARIO.event, "--base-url", base_url, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    headline = next(c for c in report["claims"] if c["id"] == report["headline"])
    assert headline["subject"] in SCENARIO.planted
    assert headline["e_value"] >= 1 / headline["alpha"]
    assert headline["changed"]["rate"] < 0.5 * headline["base"]["rate"]


def test_its_regression_test_fails_without_the_fix_and_passes_with_it(world: tuple[Path, str], tmp_path: Path) -> None:
    store, base_url = world
    plain, fixed = tmp_path / "test_refund.py", tmp_path / "test_refund_fixed.py"
    assert whyspan(store, "test", "last", SCENARIO.event, "--out", str(plain)).returncode == 0
    done = whyspan(
        store, "fix", "last", SCENARIO.event, "--base-url", base_url, "--budget", "400", "--write-test", str(fixed)
    )
    assert done.returncode == 0, done.stderr

    def outcome(test: Path, *options: str) -> int:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "WHYSPAN_"))}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
        return subprocess.run(
            [*command, str(test), *options], env=environ, capture_output=True, cwd=tmp_path, check=False
        ).returncode

    live = ("--whyspan-base-url", base_url)
    assert outcome(plain, *live) == pytest.ExitCode.TESTS_FAILED
    assert outcome(fixed, *live) == pytest.ExitCode.OK
    assert outcome(fixed) == pytest.ExitCode.OK, "recorded mode needs no model"
    fixed.write_text(fixed.read_text().replace("You ", "We ", 1))
    assert outcome(fixed) == pytest.ExitCode.TESTS_FAILED, "another prompt is not the verified one"
