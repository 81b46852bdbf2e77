"""`whyspan run`: learns what helps, refuses what does not, and goes on after kill -9 without paying twice."""

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
import json, pathlib, re, time

CALLS = pathlib.Path(__file__).with_name("calls.txt")

def answer(request):
    with CALLS.open("a") as file:
        file.write(json.dumps(request, sort_keys=True) + "\\n")
    time.sleep(0.02)
    told = " ".join(m["content"] for m in request["messages"] if m["role"] == "system")
    ticket = re.search(r"T-[0-9]+", request["messages"][-1]["content"])[0]
    return f"Thank you. {ticket if 'ticket number' in told else ''} We will write again."
"""
EVALUATOR = """\
def evaluate(run_input, run_output, context):
    good = run_input["ticket"] in run_output["text"]
    return {"score": float(good), "feedback": [] if good else ["name the ticket number", "write in blue ink"]}
"""
SCENARIO = """\
name: replies
description: a customer writes
proposer: {provider: rules, model: "model.py:answer", system: You answer customers., prompt: "{{ input.ticket }}"}
evaluator: {module: evaluator}
cases: cases/*.json
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "scenarios" / "replies"
    (scenario / "cases").mkdir(parents=True)
    cases = [{"ticket": f"T-{n}", **({"heldout": True} if n % 8 == 5 else {})} for n in range(100, 140)]
    (scenario / "cases" / "all.json").write_text(json.dumps(cases))
    for name, text in (("model.py", MODEL), ("evaluator.py", EVALUATOR), ("scenario.yaml", SCENARIO)):
        (scenario / name).write_text(text)
    return tmp_path


def rows(query: str) -> list[dict[str, Any]]:
    with Store.open(".whyspan") as store:
        return run_query(store, query).records()


def calls(folder: Path) -> list[str]:
    return (folder / "scenarios" / "replies" / "calls.txt").read_text().splitlines()


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["run", "--scenario", "replies", "--json", *words]) == ExitCode.OK
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


CLAIMS = "SELECT lesson_id, decision, e_value, pairs, number, heldout FROM knowledge ORDER BY lesson_id"


def test_a_lesson_that_helps_is_learned_and_kept_and_a_decoy_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_json(capsys, "--gens", "3")
    assert [g["score"] for g in report["generations"]] == [0.0, 1.0, 1.0]
    assert {p["lesson"].rpartition(": ")[2]: p["decision"] for p in report["proposals"]} == {
        "name the ticket number": "admitted",
        "write in blue ink": "inconclusive",
    }
    assert report["served"] == ["When a customer writes: name the ticket number"]
    assert [r["lessons_admitted"] for r in rows("SELECT * FROM scenarios")] == [1]
    by_generation = (
        "SELECT generation, avg(score) AS score FROM runs WHERE generation IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    assert [row["score"] for row in rows(by_generation)] == [0.0, 1.0, 1.0]
    assert rows("SELECT count(*) AS n FROM claims WHERE kind = 'lesson' AND scope = 'population'") == [{"n": 2}]
    assert rows("SELECT count(*) AS n FROM scores WHERE name = 'score' AND value = 0")[0]["n"] > 0
    said = "SELECT attr(attributes, 'evaluations.0.evaluation.explanation') AS said, operation FROM spans "
    claim = rows(f"{said} WHERE attr(attributes, 'whyspan.lesson.decision') = 'admitted'")
    assert [(c["operation"], c["said"].split(" [")[0]) for c in claim] == [("evaluate", "admitted: effect +1.00")]
    again = run_json(capsys, "--gens", "2")
    assert [g["score"] for g in again["generations"]] == [1.0, 1.0]
    assert again["proposals"] == []
    for words in ("show", "audit", "diff", "retest --pairs 8"):
        assert main(["knowledge", *words.split(), "--scenario", "replies"]) == ExitCode.OK
    assert main(["knowledge", "rollback", "--scenario", "replies"]) == ExitCode.OK
    assert run_json(capsys)["served"] == []


def test_no_lesson_is_served_without_a_strategy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_json(capsys, "--gens", "2", "--knowledge-strategy", "none")
    assert [g["served"] for g in report["generations"]] == [0, 0]
    assert "admitted" in {p["decision"] for p in report["proposals"]}
    assert "status: active" not in (folder / "knowledge/replies/playbook.yaml").read_text()


def test_noise_writes_no_lesson_and_no_avoid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = (
        "import hashlib\n"
        "def evaluate(run_input, run_output, context):\n"
        "    text = str(run_input) + run_output['text']\n"
        "    score = hashlib.sha256(text.encode()).digest()[0] / 255\n"
        "    return {'score': score, 'feedback': ['use the same strategy']}\n"
    )
    (folder / "scenarios/replies/evaluator.py").write_text(noisy)
    model = folder / "scenarios/replies/model.py"
    model.write_text("import os\ndef answer(request):\n    return os.urandom(4).hex()\n")
    for _ in range(3):
        assert run_json(capsys)["served"] == []
    book = (folder / "knowledge/replies/playbook.yaml").read_text()
    assert "active" not in book
    assert "avoid" not in book.lower()


def test_a_changed_scorer_makes_lessons_wait_for_a_test(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_json(capsys, "--gens", "2")
    evaluator = folder / "scenarios/replies/evaluator.py"
    evaluator.write_text(EVALUATOR + "\n# changed\n")
    assert main(["knowledge", "retest", "--scenario", "replies"]) == ExitCode.OK
    assert rows("SELECT count(DISTINCT epoch) AS n FROM knowledge WHERE decision = 'admitted'") == [{"n": 2}]


def test_a_budget_that_ends_can_be_continued(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--scenario", "replies", "--gens", "2"]
    assert main([*words, "--budget", "20"]) == ExitCode.BUDGET
    paid = len(calls(folder))
    assert paid <= 20
    assert main(words) == ExitCode.OK
    assert len(calls(folder)) == len(set(calls(folder)))


def test_a_killed_run_pays_for_nothing_twice_and_claims_the_same(folder: Path) -> None:
    words = [sys.executable, "-m", "whyspan", "run", "--scenario", "replies", "--gens", "2"]
    killed = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = folder / "scenarios/replies/calls.txt"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (path.exists() and len(calls(folder)) > 30):
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = calls(folder)
    assert len(before) > 30
    assert subprocess.run(words, stdout=subprocess.DEVNULL, check=True).returncode == 0
    repeated = len(calls(folder)) - len(set(calls(folder)))
    assert repeated <= 8  # those in flight
    continued = rows(CLAIMS)

    whole = folder / "whole"
    whole.mkdir()
    (folder / "scenarios").rename(whole / "scenarios")
    subprocess.run(words, cwd=whole, stdout=subprocess.DEVNULL, check=True)
    with Store.open(whole / ".whyspan") as store:
        assert run_query(store, CLAIMS).records() == continued


def test_a_coach_is_shown_the_same_when_a_run_is_continued(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coach = (
        "import json, pathlib\n"
        "def coach(request):\n"
        "    asked = request['messages'][-1]['content']\n"
        "    with pathlib.Path(__file__).with_name('asked.txt').open('a') as file:\n"
        "        file.write(json.dumps(asked) + chr(10))\n"
        "    return json.dumps([{'action': 'write in blue ink'}, {'action': 'name the ticket number'}])\n"
    )
    (folder / "scenarios/replies/roles.py").write_text(coach)
    roles = 'roles: {coach: {provider: rules, model: "roles.py:coach"}}\n'
    (folder / "scenarios/replies/scenario.yaml").write_text(SCENARIO + roles)
    words = ["run", "--scenario", "replies", "--gens", "2"]
    budget = 60  # ends after the first lesson was tested
    assert main([*words, "--budget", str(budget)]) == ExitCode.BUDGET
    assert "inconclusive" in (folder / "knowledge/replies/playbook.yaml").read_text()
    assert main(words) == ExitCode.OK
    asked = (folder / "scenarios/replies/asked.txt").read_text().splitlines()
    assert len(asked) == 1  # nothing goes wrong in the second generation


ROLES = """\
import json

def coach(request):
    return json.dumps([{"condition": "asked", "action": "name the ticket number"}])

def judge(request):
    return json.dumps({"score": 0.5, "feedback": ["be kind"]})
"""


def test_the_calls_of_roles_and_judges_are_spans_and_no_decisions(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "scenarios/replies/roles.py").write_text(ROLES)
    judged = 'evaluator: {judge: {provider: rules, model: "roles.py:judge"}, rubric: kind}\n'
    roles = 'roles: {coach: {provider: rules, model: "roles.py:coach"}}\n'
    text = SCENARIO.replace("evaluator: {module: evaluator}\n", judged) + roles
    (folder / "scenarios/replies/scenario.yaml").write_text(text)
    report = run_json(capsys)
    parents = rows(
        "SELECT parent.name AS parent, parent.operation, call.scope_name, count(*) AS n FROM spans AS call "
        "JOIN spans AS parent ON parent.span_id = call.parent_span_id WHERE call.operation = 'chat' "
        "GROUP BY ALL ORDER BY parent"
    )
    assert [(p["parent"], p["operation"], p["scope_name"]) for p in parents] == [
        ("coach 1", "invoke_agent", "whyspan"),
        ("evaluate score", "evaluate", "whyspan"),
        ("run replies", "invoke_agent", "whyspan.run"),
    ]
    coach, judge, proposer = (p["n"] for p in parents)
    assert (coach, judge) == (1, proposer)
    assert rows("SELECT count(*) AS n FROM llm_calls")[0]["n"] == proposer
    own = rows("SELECT name, operation FROM spans WHERE trace_id = '{trace_id}' ORDER BY name".format_map(report))
    assert {"name": "learn replies", "operation": "invoke_workflow"} in own
    assert {"name": "generation 1", "operation": "invoke_workflow"} in own
