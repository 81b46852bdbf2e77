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


STUBBORN = """\
  - id: write
    task: Write it.
    retries: 5
    verifier: {type: predicate, predicate: "always text:/1.4/"}
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


def stops(store: Store, columns: str) -> tuple[Any, ...]:
    (row,) = run_query(store, f"SELECT {columns} FROM missions").rows
    return tuple(row)


def test_a_budget_counts_over_all_the_times_that_a_mission_is_carried_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = MISSION.replace("steps:\n", "budget: {calls: 3}\nsteps:\n", 1)
    (folder / "mission.yaml").write_text(limited)
    assert main(["mission", "run", "--mission-file", "mission.yaml"]) == ExitCode.BUDGET
    said = capsys.readouterr().err
    assert "whyspan mission resume notes" in said
    assert len(calls(folder)) == 3
    assert main(["mission", "resume", "notes"]) == ExitCode.BUDGET
    assert len(calls(folder)) == 3
    (folder / "mission.yaml").write_text(limited.replace("calls: 3", "calls: 6"))
    assert main(["mission", "resume", "notes"]) == ExitCode.OK
    with Store.open(".whyspan") as store:
        assert stops(store, "status, calls") == ("done", 6)  # five of the proposer, one of the judge


def test_seconds_count_over_all_the_times_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text(MODEL.replace("SLEEP", "0.4"))
    slow = MISSION.replace("steps:\n", "budget: {seconds: 0.6}\nsteps:\n", 1)
    (folder / "mission.yaml").write_text(slow)
    assert main(["mission", "run", "--mission-file", "mission.yaml"]) == ExitCode.BUDGET
    begun = calls(folder)
    for _ in range(2):
        assert main(["mission", "resume", "notes"]) == ExitCode.BUDGET
        assert "the time is over: " in capsys.readouterr().err
    assert calls(folder) == begun
    with Store.open(".whyspan") as store:
        assert stops(store, "seconds")[0] >= 0.6


def test_every_model_call_of_a_mission_is_a_span(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mission(capsys, "run", "--mission-file", "mission.yaml")
    with Store.open(".whyspan") as store:
        kinds = run_query(
            store,
            "SELECT coalesce(attr(attributes, 'whyspan.kind'), 'call') AS kind, operation, count(*) FROM spans "
            "GROUP BY ALL ORDER BY kind",
        ).rows
        steps = run_query(
            store,
            "SELECT DISTINCT parent.name FROM llm_calls JOIN spans AS parent ON parent.span_id = "
            "llm_calls.parent_span_id ORDER BY 1",
        ).rows
    assert kinds == (
        ("call", "chat", 6), ("mission", "invoke_workflow", 1), ("step", "invoke_agent", 5),
        ("verifier", "evaluate", 5),
    )  # fmt: skip
    assert [name for (name,) in steps] == ["step check", "step list", "step thanks", "step write"]
    assert main(["calls", "last", "--json"]) == ExitCode.OK
    grades = [json.loads(line)["completeness"]["grade"] for line in capsys.readouterr().out.splitlines()]
    assert grades == ["exact"] * 5  # the judge's call is no decision of the agent


def test_another_attempt_at_the_same_prompt_is_another_sample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text(MODEL.replace("time.sleep(SLEEP)", "if len(CALLS()) > 3: return '1.4'").replace(
        "def work", "def CALLS():\n    return pathlib.Path(__file__).with_name('calls.txt').read_text().splitlines()"
        "\n\ndef work"))  # fmt: skip
    lone = "name: n\nproposer: {provider: rules, model: 'model.py:work'}\nsteps:\n" + STUBBORN
    (folder / "mission.yaml").write_text(lone)
    steps = mission(capsys, "run", "--mission-file", "mission.yaml")
    assert steps["write"]["output"] == "1.4"
    assert len(calls(folder)) == 4


def test_a_step_without_a_checkpoint_is_verified_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mission.yaml").write_text(MISSION.replace("task: List changes.", "checkpoint: false, task: List it."))
    mission(capsys, "run", "--mission-file", "mission.yaml")
    steps = mission(capsys, "resume", "notes")
    assert {name: step["resumed"] for name, step in steps.items()} == {
        "list": False, "thanks": True, "write": True, "check": True,
    }  # fmt: skip
    assert len(calls(folder)) == 5  # the answer was paid for


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
