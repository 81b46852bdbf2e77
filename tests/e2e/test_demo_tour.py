import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import serve_standin
from whyspan.ingest.store import Store


def whyspan(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whyspan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment())


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("WHYSPAN_", "OTEL_", "OPENAI_", "PYTEST_"))}


@contextmanager
def running(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", "-m", "whyspan", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=cwd, env=environment()) as process:
        try:
            yield process
        finally:
            process.kill()  # of no consequence for one that has ended


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout
    text = ""
    for line in process.stdout:
        text += line
        if words in line:
            return text
    raise AssertionError(f"{words!r} never came:\n{text}")


@dataclass(frozen=True)
class Toured:
    """A demo that has run to its end in a folder of its own, went on collecting, and got Ctrl-C."""

    folder: Path
    code: int
    output: str
    answer: int
    """HTTP status of an export to the collector after the tour."""


@pytest.fixture(scope="module")
def tours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Toured]:
    """The demo of every scenario, all at the same time."""
    folders = {name: tmp_path_factory.mktemp(name) for name in SCENARIOS}
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(running("demo", name, "--keep", "kept", "--serve", cwd=folder))
            for name, folder in folders.items()
        }
        return {name: finish(process, folders[name]) for name, process in processes.items()}


def finish(process: subprocess.Popen[str], folder: Path) -> Toured:
    output = read_until(process, "still collecting") + read_until(process, "export OTEL_EXPORTER_OTLP_ENDPOINT=")
    endpoint = output.rpartition("=")[2].strip()
    answer = httpx.post(f"{endpoint}/v1/traces", content=b"{}", headers={"content-type": "application/json"})
    process.send_signal(signal.SIGINT)
    return Toured(folder=folder, code=process.wait(30), output=output, answer=answer.status_code)


EACH = pytest.mark.parametrize("name", SCENARIOS)


@EACH
def test_demo_names_the_planted_sentence_and_a_fix_that_the_test_keeps(name: str, tours: dict[str, Toured]) -> None:
    tour = tours[name]
    assert tour.code == 0, tour.output
    words = " ".join(tour.output.split())
    assert SCENARIOS[name].planted in words
    assert re.search("the prompt as it is 1 failed", words)
    assert re.search("plus .* 1 passed", words)
    assert f"whyspan fix last {SCENARIOS[name].event}" in words
    assert (tour.folder / "kept/tests" / f"test_{name}.py").is_file()
    assert (tour.folder / "kept/tests/cases" / f"{name}.case.json").is_file()


@EACH
def test_claims_are_in_the_agents_own_trace_under_the_decision(name: str, tours: dict[str, Toured]) -> None:
    with Store.open(tours[name].folder / "kept/store") as store, store.connect() as db:
        causes = db.execute(
            "SELECT c.subject, c.verdict, d.name, p.parent_span_id = d.span_id FROM claims c "
            "JOIN spans p ON p.span_id = c.span_id JOIN spans d ON d.span_id = c.decision_span_id "
            "WHERE c.kind = 'cause' AND d.trace_id = c.trace_id"
        ).fetchall()
        trials = db.execute("SELECT count(*) FROM trials").fetchall()[0][0]
    assert any(SCENARIOS[name].planted in subject for subject, *_ in causes)
    assert {row[1:] for row in causes} == {("supported", f"chat standin-{name}", True)}
    assert trials > 100


def test_untrusted_content_rule_fails_for_ops_and_the_guard_holds(tours: dict[str, Toured]) -> None:
    words = dict(
        re.findall(r"^  (untrusted-content rule|action guard) .*?(holds|reduces|fails)", tours["ops"].output, re.M)
    )
    assert words["untrusted-content rule"] == "fails"
    assert words["action guard"] in {"holds", "reduces"}


def test_kept_folder_can_be_worked_with(tours: dict[str, Toured]) -> None:
    tour = tours["refund"]
    kept = tour.output.partition("kept in ")[2]
    shows, asks = re.findall(r"^  whyspan (--store .*)$", kept, re.M)
    shown = whyspan(*shows.split(), cwd=tour.folder)
    assert "issue_refund" in shown.stdout, shown.stderr
    asked = whyspan(*asks.split(), cwd=tour.folder)
    assert SCENARIOS["refund"].planted in " ".join(asked.stdout.split()), asked.stderr
    tests = re.findall(r"^  pytest (.*)$", kept, re.M)[0]
    command = [sys.executable, "-m", "pytest", "-q", *tests.split()]
    tested = subprocess.run(command, cwd=tour.folder, env=environment(), check=False, capture_output=True, text=True)
    assert "1 passed" in tested.stdout


@EACH
def test_demo_goes_on_collecting_until_ctrl_c(name: str, tours: dict[str, Toured]) -> None:
    assert tours[name].answer == 200


def test_ctrl_c_in_the_middle_leaves_a_usable_store(tmp_path: Path) -> None:
    with running("demo", "--keep", "kept", cwd=tmp_path) as process:
        read_until(process, "find the cause")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    runs = whyspan("--store", "kept/store", "runs", cwd=tmp_path)
    assert runs.returncode == 0
    assert "inbox-agent" in runs.stdout


def test_interrupted_demo_that_keeps_nothing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with running("demo", cwd=tmp_path) as process:
        read_until(process, "find the cause")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made_is_an_error_with_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown = whyspan("demo", "--keep", "file/kept", cwd=tmp_path)
    assert shown.returncode == 2
    assert shown.stderr.startswith("error: cannot make file/kept")


def test_hunt_stops_at_the_failure_and_names_the_next_command(tmp_path: Path) -> None:
    with serve_standin(seed=1) as base_url:
        shown = whyspan(
            "demo", "hunt", "refund", "--tries", "9", "--local", "standin-refund", "--base-url", base_url, cwd=tmp_path
        )
        assert shown.returncode == 0, shown.stderr
        assert "tokens" in shown.stdout
        command = shown.stdout.partition("next: whyspan ")[2].split()
        assert command[2:] == ["tool:issue_refund", "--base-url", base_url]
        why = whyspan(*command, cwd=tmp_path)
    assert why.returncode == 0, why.stdout + why.stderr
    assert SCENARIOS["refund"].planted in " ".join(why.stdout.split())


def test_hunt_without_a_failure_is_a_finding(tmp_path: Path) -> None:
    with serve_standin(seed=1) as base_url:
        arguments = ["demo", "hunt", "refund", "--tries", "1", "--local", "standin-inbox", "--base-url", base_url]
        shown = whyspan(*arguments, cwd=tmp_path)
    assert shown.returncode == 1
    assert "It did not issue_refund in 1 runs" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "name one model"),
        (["--local", "a", "--openai", "b"], 2, "name one model"),
        (["--openai", "gpt-9"], 2, "OPENAI_API_KEY is not set"),
        (["--local", "a", "--base-url", "http://127.0.0.1:1/v1"], 4, "cannot be reached"),
    ],
)
def test_hunt_without_a_usable_model_says_so(arguments: list[str], code: int, words: str, tmp_path: Path) -> None:
    shown = whyspan("demo", "hunt", "inbox", *arguments, cwd=tmp_path)
    assert shown.returncode == code
    assert words in shown.stderr
    assert "hint: " in shown.stderr
