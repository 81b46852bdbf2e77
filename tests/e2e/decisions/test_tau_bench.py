"""Real trajectories with real outcomes: triaged, explained by a job under a budget, reported."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tau_bench import DATA, write_otlp

from whyspan.cli.main import main
from whyspan.ingest.store import Store

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the trajectories are not here")

BUDGET = 600
SETTINGS = f"""[policy]
bad_below = {{ reward = 0.5 }}
[jobs.cancellations]
select = "list_contains(tool_names, 'cancel_reservation') AND run_scores['reward'] < 0.5"
limit = 12
budget = {BUDGET}
concurrency = 8
model_fn = "model.py:model"
"""
MODEL = '''
CANCEL = {"id": "c", "type": "function", "function": {"name": "cancel_reservation", "arguments": "{}"}}
def model(request):
    """Cancels once the user has said yes; the trajectories' own model is not at hand."""
    said = [m["content"] for m in request["messages"] if m["role"] == "user" and isinstance(m["content"], str)]
    if any("yes" in text.lower() for text in said[-2:]):
        return {"role": "assistant", "content": None, "tool_calls": [CANCEL]}
    return "Shall I cancel it?"
'''


@pytest.fixture(scope="module")
def folder(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gives a folder with a store of 200 runs beside those of the demo's agents, settings and a model."""
    folder = tmp_path_factory.mktemp("tau")
    shutil.copytree(recorded, folder / ".whyspan")
    assert write_otlp(folder / "otlp", 1) == 200
    assert main(["--store", str(folder / ".whyspan"), "import", "otlp", str(folder / "otlp")]) == 0
    (folder / "whyspan.toml").write_text(SETTINGS)
    (folder / "model.py").write_text(MODEL)
    return folder


@pytest.fixture
def whyspan(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))

    def invoke(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        return main(list(words)), capsys.readouterr().out

    return invoke


def test_every_run_and_its_reward_are_there(folder: Path) -> None:
    of_airline = "FROM decisions WHERE service = 'airline-agent'"
    query = f"SELECT count(*), count(DISTINCT trace_id), count(run_scores['reward']) {of_airline}"
    with Store.open(folder / ".whyspan") as store, store.connect() as db:
        decisions, runs, scored = db.execute(query).fetchall()[0]
    assert (runs, scored) == (200, decisions)


def test_the_first_look_tells_what_is_there(whyspan: Callable[..., tuple[int, str]]) -> None:
    _, doctor = whyspan("doctor", "--json")
    found = json.loads(doctor)
    assert {"tau-bench", "example-agent"} <= {library["name"] for library in found["instrumentations"]}
    assert found["grades"]["not_replayable"] == 0
    _, runs = whyspan("runs", "--json")
    assert {"airline-agent", "inbox-agent"} <= {run["service"] for run in json.loads(runs)["runs"]}
    _, shown = whyspan("show", "last")
    assert "invoke_agent" in shown


def test_triage_ranks_what_failed_or_is_unusual(whyspan: Callable[..., tuple[int, str]]) -> None:
    _, out = whyspan("triage", "--json", "--limit", "30")
    nominations: list[dict[str, Any]] = json.loads(out)["nominations"]
    signals = {reason["signal"] for n in nominations for reason in n["reasons"]}
    assert len(nominations) == 30
    assert {"score", "rare-tool"} <= signals


def test_a_job_explains_them_under_its_budget_and_reports(
    whyspan: Callable[..., tuple[int, str]], folder: Path
) -> None:
    code, out = whyspan("jobs", "run", "cancellations", "--json")
    done = json.loads(out)
    assert (code, done["status"]) in {(0, "done"), (5, "budget")}
    assert done["calls"] <= BUDGET
    assert done["causes"] > 0
    with Store.open(folder / ".whyspan") as store, store.connect() as db:
        causes = db.execute("SELECT DISTINCT subject FROM claims WHERE verdict = 'supported'").fetchall()
    assert any("yes" in subject.lower() for (subject,) in causes)
    code, _ = whyspan("report", "cancellations", "--html", "report.html")
    assert code == 0
    assert "Job cancellations" in Path("report.html").read_text()
