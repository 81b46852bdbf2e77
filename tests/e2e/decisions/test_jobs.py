"""`whyspan jobs`: idempotent, resumable after kill -9, under budgets, with work that is alike done once."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from whyspan.ingest.store import Store

Whyspan = Callable[..., tuple[int, str, str]]

BAD = "list_has_any(tool_names, ['forward_email', 'issue_refund', 'drop_database'])"
JOB = """[jobs.nightly]
select = "{select}"
do = {do}
model_fn = "model.py:model"
concurrency = {concurrency}
{more}
"""
COUNTING = """import time
from whyspan.cli.demo.standin import Standin
def model(request):
    with open("calls.log", "a") as log:
        log.write("1\\n")
    time.sleep(0.01)
    return Standin(0).complete(request)
"""
"""A model that decides the same way every time, so that two jobs can be compared, and counts what it is asked."""


def define(select: str = BAD, *, do: str = '["why"]', concurrency: int = 4, more: str = "") -> None:
    Path("whyspan.toml").write_text(JOB.format(select=select, do=do, concurrency=concurrency, more=more))


def run(whyspan: Whyspan) -> tuple[int, dict[str, Any]]:
    code, out, _ = whyspan("jobs", "run", "nightly", "--json")
    return code, json.loads(out)


def status(whyspan: Whyspan) -> dict[str, Any]:
    _, out, _ = whyspan("jobs", "status", "nightly", "--json")
    document: dict[str, Any] = json.loads(out)
    return document


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with Store.open(path) as store, store.connect() as db:
        return db.execute(query).fetchall()


def test_a_job_explains_what_it_selects_and_links_what_is_alike(whyspan: Whyspan, path: Path) -> None:
    define()
    code, done = run(whyspan)
    assert (code, done["status"], done["causes"]) == (0, "done", 3)
    assert done["linked"] > 0
    items = status(whyspan)["items"]
    explained = {(i["trace_id"], i["span_id"]) for i in items if i["status"] == "done"}
    linked = [i for i in items if i["status"] == "linked"]
    assert {(i["linked"]["trace_id"], i["linked"]["span_id"]) for i in linked} <= explained
    decisions = "SELECT DISTINCT decision_trace_id, decision_span_id FROM claims WHERE verdict = 'supported'"
    claimed = rows(path, f"{decisions} AND parent_claim_id IS NULL")
    assert set(claimed) == explained


def test_a_second_run_has_nothing_to_do_and_pays_nothing(whyspan: Whyspan) -> None:
    define()
    run(whyspan)
    code, again = run(whyspan)
    assert (code, again) == (0, {"schema_version": 1, "job": "nightly", "status": "nothing new"})


def test_runs_and_items_are_rows_of_views(whyspan: Whyspan, path: Path) -> None:
    define()
    _, done = run(whyspan)
    assert rows(path, "SELECT job, status, explained, linked, calls FROM job_runs") == [
        ("nightly", "done", done["explained"], done["linked"], done["calls"])
    ]
    assert rows(path, "SELECT count(*), count(linked_span_id) FROM job_items") == [
        (done["explained"] + done["linked"], done["linked"])
    ]
    assert rows(path, "SELECT job, runs, last_status, calls FROM jobs") == [("nightly", 1, "done", done["calls"])]


def test_the_budget_of_a_run_is_never_passed_and_the_next_run_goes_on(whyspan: Whyspan) -> None:
    define(do='["odds"]', more="samples = 10\nbudget = 45")
    code, first = run(whyspan)
    assert (code, first["status"], first["calls"]) == (5, "budget", 45)
    assert first["left"] > 0
    explained = first["explained"]
    while code == 5:
        code, more = run(whyspan)
        assert more["calls"] <= 45
        explained += more["explained"]
    assert (code, more["status"]) == (0, "done")
    assert explained == len(rows(Path(".whyspan"), f"SELECT 1 FROM decisions WHERE {BAD}"))


def test_the_budget_of_a_month_counts_all_runs(whyspan: Whyspan) -> None:
    define(do='["odds"]', more="samples = 10\nbudget = 45\nbudget_month = 50")
    assert [run(whyspan)[1]["calls"] for _ in range(3)] == [45, 5, 0]


def test_a_test_is_written_for_what_was_explained(whyspan: Whyspan) -> None:
    define("list_contains(tool_names, 'issue_refund')", do='["why", "fix", "test"]', more='tests = "written"')
    code, done = run(whyspan)
    (item,) = [i for i in status(whyspan)["items"] if i["status"] == "done"]
    assert (code, done["fixes"]) == (0, 1)
    assert Path(item["test"]).read_text().startswith('"""')


def test_decisions_with_the_same_request_are_explained_once(whyspan: Whyspan, path: Path) -> None:
    with Store.open(path) as store:
        trace_id = rows(path, f"SELECT trace_id FROM decisions WHERE {BAD} LIMIT 1")[0][0]
        copied = [_moved(span, "f" * 32) for span in store.spans(trace_id)]
        store.write(copied)
    define(f"trace_id IN ('{trace_id}', '{'f' * 32}') AND {BAD}")
    _, done = run(whyspan)
    assert (done["explained"], done["linked"]) == (1, 1)
    (linked,) = [i for i in status(whyspan)["items"] if i["status"] == "linked"]
    assert linked["note"] == "the same request"
    claims = rows(path, "SELECT decision_trace_id, claim_id FROM claims WHERE parent_claim_id IS NULL")
    assert {trace for trace, _ in claims} == {trace_id, "f" * 32}
    assert len({claim for _, claim in claims}) == len(claims) / 2


def _moved(span: Any, trace_id: str) -> Any:
    from dataclasses import replace

    return replace(span, trace_id=trace_id)


def test_killed_three_times_it_claims_the_same_and_pays_for_nothing_twice(whyspan: Whyspan, path: Path) -> None:
    define(concurrency=4)
    Path("model.py").write_text(COUNTING)
    twin = Path("killed")
    twin.mkdir()
    for name in (".whyspan", "model.py", "whyspan.toml"):
        (shutil.copytree if Path(name).is_dir() else shutil.copy)(name, twin / name)
    assert run(whyspan)[0] == 0
    needed = _asked(Path())
    for share in (0.2, 0.5, 0.8):
        process = _start(twin)
        while process.poll() is None and _asked(twin) < share * needed:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = _start(twin)
    assert finished.wait(60) == 0
    figures = "claim_id, decision_span_id, verdict, base_n, n, e_value"
    query = f"SELECT {figures} FROM claims ORDER BY ALL"
    assert rows(twin / ".whyspan", query) == rows(path, query)
    assert len(rows(twin / ".whyspan", "SELECT 1 FROM job_runs")) == 1
    in_flight = 3 * 4
    assert _asked(twin) <= needed + in_flight


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "whyspan", "jobs", "run", "nightly"]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, env={**os.environ, "XDG_CONFIG_HOME": "x"})


def _asked(folder: Path) -> int:
    log = folder / "calls.log"
    return len(log.read_bytes()) // 2 if log.exists() else 0


@pytest.fixture
def slow(whyspan: Whyspan) -> Iterator["subprocess.Popen[bytes]"]:
    """Gives a process that works on a job and takes long."""
    define(concurrency=1)
    Path("model.py").write_text(COUNTING.replace("0.01", "0.3"))
    process = _start(Path())
    while not _asked(Path()):
        assert process.poll() is None
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait()


def test_one_process_at_a_time_and_the_other_is_no_failure(slow: "subprocess.Popen[bytes]", whyspan: Whyspan) -> None:
    code, _, err = whyspan("jobs", "run", "nightly")
    assert code == 0
    assert "is being run by another process" in err
    assert status(whyspan)["alive"]


def test_cancel_stops_a_run_within_seconds_and_the_next_one_is_new(
    slow: "subprocess.Popen[bytes]", whyspan: Whyspan
) -> None:
    code, out, _ = whyspan("jobs", "cancel", "nightly")
    assert code == 0
    assert "asked run" in out
    assert slow.wait(10) == 130
    assert status(whyspan)["status"] == "cancelled"
    Path("model.py").write_text("from whyspan.cli.demo.standin import model\n")
    assert run(whyspan)[1]["status"] == "done"
    _, out, _ = whyspan("jobs", "history", "nightly", "--json")
    assert [r["status"] for r in json.loads(out)["runs"]] == ["done", "cancelled"]


def test_a_stop_signal_saves_the_state_and_the_next_run_continues(
    slow: "subprocess.Popen[bytes]", whyspan: Whyspan
) -> None:
    slow.send_signal(signal.SIGTERM)
    assert slow.wait(10) == 130
    before = status(whyspan)
    assert before["status"] == "interrupted"
    Path("model.py").write_text("from whyspan.cli.demo.standin import model\n")
    assert run(whyspan)[1]["run_id"] == before["run_id"]


def test_a_killed_run_can_be_cancelled(slow: "subprocess.Popen[bytes]", whyspan: Whyspan) -> None:
    slow.kill()
    slow.wait()
    assert not status(whyspan)["alive"]
    _, out, _ = whyspan("jobs", "cancel", "nightly")
    assert "its process was gone" in out
    code, _, err = whyspan("jobs", "cancel", "nightly")
    assert code == 2
    assert "no run of 'nightly' is going on" in err


def test_a_model_that_fails_ends_the_run_and_is_asked_again_by_the_next(whyspan: Whyspan) -> None:
    define(do='["odds"]', more="samples = 2")
    Path("model.py").write_text("def model(request):\n    raise OSError('down')\n")
    code, failed = run(whyspan)
    assert (code, failed["status"], failed["explained"]) == (4, "failed", 0)
    Path("model.py").write_text("from whyspan.cli.demo.standin import model\n")
    code, done = run(whyspan)
    assert (code, done["status"], done["failed"]) == (0, "done", 0)


class Receiver(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    received: list[Any]

    def do_POST(self) -> None:
        self.received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200 if self.path == "/ok" else 500)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Any]]]:
    received: list[Any] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Mine", (Receiver,), {"received": received}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    thread.join()
    server.server_close()


def test_people_and_machines_are_told_in_figures_only(
    whyspan: Whyspan, receiver: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, received = receiver
    monkeypatch.setenv("HOOK", f"{url}/ok")
    define(do='["odds"]', more='notify = ["stdout", "slack:$HOOK", "webhook:$HOOK"]')
    code, _ = run(whyspan)
    slack, hook = received
    assert code == 0
    assert slack["text"].startswith("job nightly: done. ")
    assert hook["status"] == "done"
    assert "Brightwell" not in json.dumps(received)


def test_a_channel_that_fails_does_not_fail_the_run(whyspan: Whyspan, receiver: tuple[str, list[Any]]) -> None:
    define(do='["odds"]', more=f'notify = ["webhook:{receiver[0]}/broken"]')
    code, _, err = whyspan("jobs", "run", "nightly")
    assert code == 0
    assert "not notified: the webhook answered 500" in err


def test_a_dry_run_shows_the_most_that_it_can_cost_and_asks_nothing(whyspan: Whyspan) -> None:
    define(more="per_decision = 30\nbudget = 200")
    Path("model.py").write_text(COUNTING)
    code, out, _ = whyspan("jobs", "run", "nightly", "--dry-run", "--json")
    plan = json.loads(out)
    assert code == 0
    assert plan["calls_at_most"] == min(200, 4 * 30 * plan["decisions"])
    assert _asked(Path()) == 0
    define(more="per_decision = 10\ndepth = 0")
    _, out, _ = whyspan("jobs", "run", "nightly", "--dry-run", "--json")
    assert json.loads(out)["calls_at_most"] == 10 * plan["decisions"]


def test_triage_can_choose(whyspan: Whyspan) -> None:
    Path("whyspan.toml").write_text(
        '[policy]\nnever = ["tool:drop_database"]\n'
        '[jobs.nightly]\ntriage = 2\ndo = ["odds"]\nmodel_fn = "model.py:model"\n'
    )
    _, done = run(whyspan)
    assert done["explained"] == 2
    assert {i["target"] for i in status(whyspan)["items"]} == {"calls drop_database"}


def test_a_job_may_ask_another_model(whyspan: Whyspan, path: Path) -> None:
    define("list_contains(tool_names, 'issue_refund')", do='["odds"]', more='model = "standin-inbox"')
    run(whyspan)
    assert rows(path, "SELECT DISTINCT model FROM trials") == [("standin-inbox",)]


def test_list_and_history_name_the_jobs(whyspan: Whyspan) -> None:
    define()
    _, out, _ = whyspan("jobs", "list")
    assert "never run" in out
    assert out.splitlines()[-1].endswith("jobs run nightly --dry-run")
    _, out, _ = whyspan("jobs", "history")
    assert out == "no job has run yet\n"


def test_a_report_on_a_job_that_has_not_run_says_so(whyspan: Whyspan, tmp_path: Path) -> None:
    define()
    code, _, err = whyspan("report", "nightly", "--html", str(tmp_path / "report.html"))
    assert code == 2
    assert "'nightly' has not worked on anything yet" in err


def test_an_unknown_job_names_the_nearest(whyspan: Whyspan) -> None:
    define()
    code, _, err = whyspan("jobs", "run", "nigthly")
    assert code == 2
    assert "did you mean 'nightly'?" in err
