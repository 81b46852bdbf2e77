"""`whyspan simulate`: crossed and paired variables, errors that are no zeros, a race, and SQL over the runs."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

MODEL = """\
import pathlib, random

def answer(request):
    with pathlib.Path(__file__).with_name("calls.txt").open("a") as file:
        file.write("call\\n")
    if request["model"].endswith("broken"):
        raise RuntimeError("no such model")
    return request["messages"][-1]["content"]

broken = answer
"""
SWEEP = """\
description: tones
base_input: {question: why}
proposer: {provider: rules, model: "model.py:answer", prompt: "{{ input.question }} {{ variables.tone }}"}
evaluator: {predicate: "always text:/warm/"}
runs_per_combo: RUNS
variables:
  tone: [warm, cold]
  "model,question": [["model.py:answer", who], ["model.py:broken", what]]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def simulate(folder: Path, capsys: pytest.CaptureFixture[str], sweep: str, *words: str, code: int) -> dict[str, Any]:
    (folder / "sweep.yaml").write_text(sweep)
    assert main(["simulate", "--config", "sweep.yaml", "--json", *words]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_combinations_are_crossed_paired_and_scored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--output-dir", "out", "--max-concurrent-runs", "4")
    result = simulate(folder, capsys, SWEEP.replace("RUNS", "3"), *words, code=ExitCode.UPSTREAM)
    cells = {(c["variables"]["tone"], c["variables"]["question"]): c for c in result["combinations"]}
    assert {key: (c["mean"], c["n"], c["errors"]) for key, c in cells.items()} == {
        ("warm", "who"): (1.0, 3, 0),
        ("cold", "who"): (0.0, 3, 0),
        ("warm", "what"): (None, 0, 3),
        ("cold", "what"): (None, 0, 3),
    }
    assert len((folder / "out/runs.jsonl").read_text().splitlines()) == 6
    query = (
        "SELECT variables->>'tone', avg(score), stddev(score) FROM runs "
        f"WHERE parent_simulation_id = '{result['simulation']}' GROUP BY 1 ORDER BY 2 DESC"
    )
    with Store.open(".whyspan") as store:
        assert run_query(store, query).rows == (("warm", 1.0, 0.0), ("cold", 0.0, 0.0))


def test_the_same_sweep_again_pays_for_what_is_missing_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = SWEEP.replace("RUNS", "4").replace(', ["model.py:broken", what]', "")
    (folder / "sweep.yaml").write_text(sweep)
    assert main(["simulate", "--config", "sweep.yaml", "--budget", "5"]) == ExitCode.BUDGET
    capsys.readouterr()
    simulate(folder, capsys, sweep, code=ExitCode.OK)
    assert len((folder / "calls.txt").read_text().splitlines()) == 8


def test_a_killed_sweep_goes_on_without_repeating_what_was_answered(folder: Path) -> None:
    (folder / "model.py").write_text(
        "import time\n" + MODEL.replace("    if request", "    time.sleep(0.1)\n    if request")
    )
    (folder / "sweep.yaml").write_text(SWEEP.replace("RUNS", "12").replace(', ["model.py:broken", what]', ""))
    words = [sys.executable, "-m", "whyspan", "simulate", "--config", "sweep.yaml"]
    killed = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    calls, deadline = folder / "calls.txt", time.monotonic() + 60
    while time.monotonic() < deadline and not (calls.exists() and len(calls.read_text().splitlines()) >= 10):
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert 10 <= len(calls.read_text().splitlines()) < 24
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    assert len(calls.read_text().splitlines()) <= 24 + 2  # those in flight
    with Store.open(".whyspan") as store:
        assert run_query(store, "SELECT count(*) FROM runs WHERE parent_simulation_id IS NOT NULL").rows == ((24,),)


def test_a_race_stops_what_is_beaten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = SWEEP.replace("RUNS", "40").replace(', ["model.py:broken", what]', "")
    result = simulate(folder, capsys, sweep, "--race", code=ExitCode.OK)
    best, worst = result["combinations"]
    assert (best["variables"]["tone"], best["n"]) == ("warm", 40)
    assert worst["is_beaten"]
    assert worst["n"] < 40


def test_a_wrong_pair_names_line_and_field(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sweep.yaml").write_text(SWEEP.replace("RUNS", "1").replace(", who]", "]"))
    assert main(["simulate", "--config", "sweep.yaml"]) == ExitCode.BAD_DATA
    assert "sweep.yaml:8: variables.model,question: ['model.py:answer'] must be a list of 2" in capsys.readouterr().err
