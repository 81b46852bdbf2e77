"""`whyspan why --method` and `--guess` on a recorded decision of the demo's agent."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from whyspan.analysis.attribution.methods.judge import numbers_in
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

PLANTED = SCENARIOS["inbox"].planted
TALKER = """
from whyspan.cli.demo.standin import model

def answer(request):
    said = request["messages"][-1]["content"] or ""
    if "What it did:" not in said:
        return model(request)
    piece = next(line for line in said.splitlines() if {words!r} in line)
    return "[" + piece[1:].partition("]")[0] + ", 99999]"
"""


def ask(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str]:
    query = "SELECT trace_id, span_id, 'tool:forward_email' AS event FROM decisions "
    query += "WHERE list_contains(tool_names, 'forward_email') ORDER BY started LIMIT 1"
    capsys.readouterr()
    code = main(["why", "--select", query, "--model-fn", "talker.py:answer", *shlex.split(words)])
    return code, capsys.readouterr().out


def report(capsys: pytest.CaptureFixture[str], words: str) -> dict[str, Any]:
    _, out = ask(capsys, f"{words} --json")
    found: dict[str, Any] = json.loads(out)["reports"][0]
    return found


def claims(path: Path) -> int:
    with Store.open(path) as store:
        return len(run_query(store, "SELECT * FROM claims").rows)


@pytest.fixture
def talker(path: Path) -> Path:
    """The stand-in, which names the planted sentence when it is asked."""
    Path("talker.py").write_text(TALKER.format(words=PLANTED))
    return path


@pytest.mark.parametrize("method", ["loo", "contextcite", "judge"])
def test_a_method_names_the_planted_sentence_and_leaves_no_claim(
    method: str, talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(capsys, f"--method {method} --budget 1000")
    assert (found["method"], found["is_tested"], found["is_complete"]) == (method, False, True)
    assert PLANTED in found["named"]["text"]
    assert found["scores"][0] == found["named"]
    assert found["paid"] == found["replays"]
    assert claims(talker) == 0


def test_a_ranking_says_that_nothing_in_it_was_tested(talker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = ask(capsys, "--method loo --budget 1000")
    assert code == ExitCode.OK
    assert "nothing was tested, no error rate holds" in out
    assert PLANTED[:40] in out


def test_a_ranking_that_the_budget_ended_says_so_and_goes_on_for_free(
    talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = ask(capsys, "--method loo --budget 15")
    assert code == ExitCode.BUDGET
    assert "The budget ended first" in out
    again = report(capsys, "--method loo --budget 1000")
    assert again["paid"] == again["replays"] - 15


@pytest.mark.parametrize("words", ["--full", "--thorough", "--guess", "--writeback otlp"])
def test_a_method_is_not_mixed_with_what_makes_claims(
    words: str, talker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = ask(capsys, f"--method loo {words}")
    assert code == ExitCode.USAGE


@pytest.mark.parametrize("suspected", [PLANTED, "You"])
def test_the_cause_is_found_whatever_the_model_guesses(
    suspected: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("talker.py").write_text(TALKER.format(words=suspected))
    found = report(capsys, "--guess")
    assert suspected in found["guess"][0]
    head = next(c for c in found["claims"] if c["id"] == found["headline"])
    assert PLANTED in head["subject"]
    assert head["e_value"] >= 1 / head["alpha"]


def test_the_report_tells_the_guess_apart_from_the_finding(talker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = ask(capsys, "--guess")
    assert f"the model suspected (no evidence, only looked at first): {PLANTED[:40]}" in out
    asked_again = report(capsys, "--guess")
    assert asked_again["paid"] == 0


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("[4, 2]", (4, 2)),
        ("Pieces 1 and 2? ```json\n[3]\n```", (3,)),
        ("It was piece 7.", (7,)),
        ("[4, 4, 12, 5, 6, 7]", (4, 5, 6)),
        ("None of them.", ()),
    ],
)
def test_an_answer_is_read_for_the_numbers_of_pieces_that_exist(answer: str, numbers: tuple[int, ...]) -> None:
    assert numbers_in(answer, 10) == numbers


def test_where_nothing_is_found_a_longer_search_is_offered_once(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "forward_email", "arguments": "{}"}}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    Path("talker.py").write_text(f"def answer(request):\n    return {{'model': 'same', 'choices': [{choice!r}]}}\n")
    code, out = ask(capsys, "--full --depth 1")
    assert code == ExitCode.FINDING
    assert "--full --depth 1 --thorough" in next(line for line in out.splitlines() if line.startswith("next: "))
    code, out = ask(capsys, "--thorough")
    assert code == ExitCode.FINDING
    assert "next: " not in out
