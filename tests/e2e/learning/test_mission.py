"""`whyspan mission`: verifiers decide, what has passed is not done again, and a killed mission goes on."""

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
import json, pathlib, time

def work(request):
    asked = request["messages"][-1]["content"]
    with pathlib.Path(__file__).with_name("calls.txt").open("a") as file:
        file.write(json.dumps(asked) + "\\n")
    time.sleep(SLEEP)
    return "1.4 is out" if "name the version" in asked else "notes: " + asked.rpartition("Task: ")[2][:20]
"""
MISSION = """\
name: notes
goal: Write the release notes.
proposer: {provider: rules, model: "model.py:work"}
steps:
  - {id: list, task: List changes., verifier: {type: predicate, predicate: "always text:/List/"}}
  - {id: thanks, task: Thank people., verifier: {type: command, command: [grep, -q, Thank]}}
  - id: write
    task: Write it.
    depends_on: [list, thanks]
    retries: 1
    verifier:
      type: script
      code: |
        text = context.get("step_output")
        return "1.4" in text, "name the version"
  - {id: check, task: Check it., depends_on: [write], verifier: {type: judge, question: Is it fine?}}
judge: {provider: rules, model: "judge.py:judge"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL.replace("SLEEP", "0"))
    (tmp_path / "judge.py").write_text("def judge(request):\n    return 'Yes.'\n")
    (tmp_path / "mission.yaml").write_text(MISSION)
    return tmp_path


def calls(folder: Path) -> list[str]:
    path = folder / "calls.txt"
    return path.read_text().splitlines() if path.exists() else []


def mission(capsys: pytest.CaptureFixture[str], *words: str, code: int = ExitCode.OK) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["mission", *words, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {step["id"]: step for step in document["steps"]}


def test_steps_run_in_order_retry_with_feedback_and_end_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = mission(capsys, "run", "--mission-file", "mission.yaml")
    assert {name: step["status"] for name, step in steps.items()} == dict.fromkeys(steps, "passed")
    assert steps["write"]["output"] == "1.4 is out"
    assert len(calls(folder)) == 5  # one retry
    assert all(step["resumed"] for step in mission(capsys, "resume", "notes").values())
    assert len(calls(folder)) == 5
    with Store.open(".whyspan") as store:
        found = run_query(store, "SELECT mission, status, steps, passed FROM missions").rows
    assert found == (("notes", "done", 4, 4),)


def test_a_refused_step_pauses_keeps_its_output_and_can_be_retried(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mission.yaml").write_text(MISSION.replace("    retries: 1\n", ""))
    steps = mission(capsys, "run", "--mission-file", "mission.yaml", code=ExitCode.FINDING)
    assert [steps[name]["status"] for name in ("list", "write", "check")] == ["passed", "failed", "waiting"]
    assert (steps["write"]["output"], steps["write"]["message"]) == ("notes: Write it.", "name the version")
    steps = mission(capsys, "retry", "notes", "write", "--hint", "name the version")
    assert steps["list"]["resumed"]
    assert steps["check"]["status"] == "passed"
    assert len(calls(folder)) == 5


def test_a_changed_task_is_done_again_with_what_depends_on_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mission(capsys, "run", "--mission-file", "mission.yaml")
    (folder / "mission.yaml").write_text(MISSION.replace("List changes.", "List all changes."))
    steps = mission(capsys, "resume", "notes")
    assert {name: step["resumed"] for name, step in steps.items()} == {
        "list": False, "thanks": True, "write": False, "check": True,
    }  # fmt: skip


def test_a_budget_ends_a_mission_until_it_is_raised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mission", "run", "--mission-file", "mission.yaml"]
    assert main([*words, "--budget", "1"]) == ExitCode.BUDGET
    with Store.open(".whyspan") as store:
        assert run_query(store, "SELECT status FROM missions").rows == (("budget",),)
    assert main(words) == ExitCode.OK
    assert len(calls(folder)) == 5


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("depends_on: [write]", "depends_on: [wrte]", "depends_on: there is no step 'wrte'"),
        ("task: Thank people.", "depends_on: [check], task: T.", "in a circle"),
        ("type: judge", "type: jugde", "mission.yaml:16: steps[3].verifier.type: 'jugde' is not valid"),
        ("text:/List/", "text:/(/", "text:/(/"),
    ],
)
def test_a_wrong_file_is_refused_before_any_call(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    (folder / "mission.yaml").write_text(MISSION.replace(old, new))
    assert main(["mission", "run", "--mission-file", "mission.yaml"]) in (ExitCode.BAD_DATA, ExitCode.USAGE)
    assert said in capsys.readouterr().err
    assert calls(folder) == []


def test_a_killed_mission_goes_on_without_repeating_what_was_answered(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL.replace("SLEEP", "0.3"))
    words = [sys.executable, "-m", "whyspan", "mission", "run", "--mission-file", "mission.yaml"]
    killed = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(calls(folder)) < 3:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = calls(folder)
    assert len(before) == 3
    assert subprocess.run(words, stdout=subprocess.DEVNULL, check=True).returncode == 0
    assert len(calls(folder)) <= len(before) + 3  # the one in flight, the retry and the last step
    assert calls(folder).count(before[0]) == 1
