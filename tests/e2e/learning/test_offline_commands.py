"""Every command about runs that learn works offline on the shipped examples."""

import json
from pathlib import Path
from typing import Any

import pytest

from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode

SWEEP = "scenario: support\nruns_per_combo: 2\nvariables: {system: [Answer., State the ticket number.]}\n"
MISSION = """\
name: reply
proposer: {provider: rules, model: "scenarios/support/model.py:answer"}
steps:
  - {id: answer, task: "Answer T-1.", verifier: {type: predicate, predicate: "always text:/Thank/"}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], command: str, code: int = ExitCode.OK) -> str:
    capsys.readouterr()
    assert main(command.split()) == code, command
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], command: str, code: int = ExitCode.OK) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(output(capsys, f"{command} --json", code))
    return value


def test_the_shipped_example_goes_through_every_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output(capsys, "scenario new --template support_reply --name support")
    run = document(capsys, "run --scenario support --gens 2")
    assert [g["score"] for g in run["generations"]] == [0.5, 1.0]
    assert "support" in output(capsys, "scenario list")
    assert "Lessons measured" in output(capsys, f"analyze --id {run['trace_id']} --type run")
    assert document(capsys, "knowledge show --scenario support")["lessons"][0]["status"] == "active"
    assert output(capsys, "knowledge prune --scenario support") == "removed: nothing\n"

    assert document(capsys, "knowledge branch --scenario support --name bold")["branches"] == ["support@bold"]
    assert document(capsys, "knowledge branch --scenario support")["branches"] == ["support@bold"]
    bold = document(capsys, "run --scenario support@bold --knowledge-strategy aggressive")
    assert bold["trace_id"] != run["trace_id"]
    assert document(capsys, "knowledge diff --scenario support@bold --with support")["changes"] == []

    (folder / "sweep.yaml").write_text(SWEEP)
    sweep = document(capsys, "simulate --config sweep.yaml")
    assert [c["mean"] for c in sweep["combinations"]] == [1.0, 0.5]
    output(capsys, f"analyze --id {sweep['simulation']} --type simulation --format html --output page.html")
    assert "State the ticket number." in (folder / "page.html").read_text()
    query = "SELECT avg(score) AS mean FROM runs WHERE parent_simulation_id IS NOT NULL"
    assert main(["analyze", "--custom-query", query, "--format", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["Query"] == [{"mean": 0.75}]

    (folder / "mission.yaml").write_text(MISSION)
    mission = document(capsys, "mission run --mission-file mission.yaml")
    assert document(capsys, "mission status reply")["missions"][0]["status"] == "done"
    assert "step answer" in output(capsys, "analyze --id reply --type mission")
    flat = [json.loads(line) for line in output(capsys, f"export trace {mission['trace_id']} --jsonl").splitlines()]
    assert [record["type"] for record in flat] == ["mission", "step", "llm_call", "verifier"]

    output(capsys, "export-training-data --scenario support --output sft.jsonl")
    row = json.loads((folder / "sft.jsonl").read_text().splitlines()[0])
    assert [m["role"] for m in row["messages"]] == ["system", "user", "assistant"]
    output(capsys, "export-training-data --scenario support --format dpo --output dpo.jsonl")
    pair = json.loads((folder / "dpo.jsonl").read_text().splitlines()[0])
    assert "Your ticket is T-" in pair["chosen"][0]["content"]
    assert "Your ticket is T-" not in pair["rejected"][0]["content"]

    assert "claude-cli" in output(capsys, "providers")


def test_a_play_is_a_run_that_can_be_shown_compared_and_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output(capsys, "scenario new --template support_reply --name support")
    output(capsys, "run --scenario support")
    runs = document(capsys, "runs")["runs"]
    assert runs[0]["scenario"] == "support"
    call = json.loads(output(capsys, "calls last --json").splitlines()[0])
    assert call["completeness"]["grade"] == "exact"
    flat = [json.loads(line) for line in output(capsys, f"export trace {runs[0]['run_id']}").splitlines()]
    assert {record["type"] for record in flat} == {"agent", "llm_call", "evaluation"}
    compare = f"analyze --compare-run-ids {runs[0]['run_id']} {runs[-1]['run_id']}"
    output(capsys, compare)
    assert "score" in output(capsys, f"{compare} --diff-type scores")
    model = "--model-fn scenarios/support/model.py:answer --budget 60"
    found = document(capsys, f"investigate -d reason last text:/Thank/ {model}", ExitCode.FINDING)
    assert found["description"] == "reason"
    assert found["hypotheses"]


def test_solve_tells_an_attempt_what_was_wrong_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text(
        "def f(request):\n    return 'red' if 'earlier attempt' in request['messages'][-1]['content'] else 'dog'\n"
    )
    words = ["solve", "-d", "Name a colour.", "--predicate", "always text:/red/", "--model-fn", "model.py:f", "--json"]
    assert main(words) == ExitCode.OK
    solved = json.loads(capsys.readouterr().out)
    assert (solved["output"], [a["score"] for a in solved["attempts"]]) == ("red", [0.0, 1.0])


def test_a_bad_decision_becomes_a_scenario_that_stays_at_case_level(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output(capsys, "scenario new --template support_reply --name support")
    output(capsys, "run --scenario support")
    made = document(capsys, "scenario new --from last text:/Thank/ --name no_thanks")
    case = json.loads(Path("scenarios/no_thanks/cases/failing.json").read_text())
    assert case["expect"] == "never text:/Thank/"
    assert made["cases"] >= 1
    model = "--model-fn scenarios/support/model.py:answer"
    run = document(capsys, f"run --scenario no_thanks --gens 2 {model}")
    assert {p["decision"] for p in run["proposals"]} <= {"inconclusive"}
    assert run["served"] == []
