"""Choosing decisions by SQL: `whyspan decisions`, and `--select` on the commands that explain."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from whyspan.analysis.questions import freeze_decision
from whyspan.analysis.selection import select_decisions
from whyspan.ingest.errors import NotFoundError, UsageError
from whyspan.ingest.rebuild import load_calls
from whyspan.ingest.store import Store

Whyspan = Callable[..., tuple[int, str, str]]
FORWARDS = "list_contains(tool_names, 'forward_email')"


def test_decisions_can_be_chosen_by_the_arguments_of_a_call(whyspan: Whyspan) -> None:
    condition = "argument(tool_calls, 'issue_refund', '$.amount_usd')::DOUBLE > 1000"
    code, out, _ = whyspan("decisions", "--where", condition, "--json")
    rows = json.loads(out)["decisions"]
    assert code == 0
    assert rows
    assert all(row["service"] == "refund-agent" and row["completeness"] == "content" for row in rows)


def test_decisions_say_what_was_done_and_the_command_to_ask_why(whyspan: Whyspan) -> None:
    _, out, _ = whyspan("decisions", "--where", FORWARDS)
    assert "forward_email" in out
    assert out.splitlines()[-1].startswith("next: whyspan why ")


def test_a_wrong_condition_is_one_line(whyspan: Whyspan) -> None:
    code, _, err = whyspan("decisions", "--where", "tool = 'x'")
    assert code == 2
    assert err.startswith("error: SQL: ")


def test_why_asks_about_each_selected_decision(whyspan: Whyspan) -> None:
    query = f"SELECT trace_id, span_id, 'tool:forward_email' AS event FROM decisions WHERE {FORWARDS} LIMIT 2"
    code, out, _ = whyspan("why", "--select", query, "--model-fn", "model.py:model", "--budget", "400", "--json")
    reports = json.loads(out)["reports"]
    assert code == 0
    assert {r["target"] for r in reports} == {"tool:forward_email"}
    assert len({r["trace_id"] for r in reports}) == 2
    _, out, _ = whyspan("decisions", "--where", "claims > 0", "--json")
    assert {r["trace_id"] for r in json.loads(out)["decisions"]} == {r["trace_id"] for r in reports}


def test_test_writes_a_file_for_each_selected_decision(whyspan: Whyspan, path: Path) -> None:
    code, out, _ = whyspan("test", "--select", FORWARDS, "--out", "tests", "--json")
    written = [Path(t["test"]) for t in json.loads(out)["tests"]]
    assert code == 0
    assert len(written) > 1
    assert all(file.is_file() and file.parent == Path("tests") for file in written)


def test_odds_tells_the_rate_of_each_selected_decision(whyspan: Whyspan) -> None:
    query = f"SELECT trace_id, span_id, 'tool:forward_email' AS event FROM decisions WHERE {FORWARDS} LIMIT 2"
    code, out, _ = whyspan("odds", "--select", query, "--model-fn", "model.py:model", "-n", "150", "--json")
    reports = json.loads(out)["reports"]
    assert code == 0
    assert len({r["trace_id"] for r in reports}) == 2
    assert [(r["target"], r["rows"][0]["draws"]) for r in reports] == [("tool:forward_email", 150)] * 2


@pytest.mark.parametrize("command", ["why", "fix", "odds", "test"])
def test_a_run_and_a_selection_exclude_each_other(whyspan: Whyspan, command: str) -> None:
    more = ("--out", "tests") if command == "test" else ("--model-fn", "model.py:model")
    code, _, err = whyspan(command, "abc", "last", "--select", FORWARDS, *more)
    assert code == 2
    assert "not both" in err


def test_a_selection_without_ids_says_which_are_missing(path: Path) -> None:
    with Store.open(path) as store, pytest.raises(UsageError, match="no column span_id"):
        select_decisions(store, "SELECT trace_id FROM decisions")


def test_an_empty_selection_is_not_found(path: Path) -> None:
    with Store.open(path) as store, pytest.raises(NotFoundError, match="no decision is selected"):
        select_decisions(store, "service = 'nobody'")


def test_a_selection_takes_each_decision_once_and_keeps_the_order(path: Path) -> None:
    with Store.open(path) as store:
        once = select_decisions(store, "SELECT trace_id, span_id FROM decisions ORDER BY started LIMIT 3")
        twice = select_decisions(
            store,
            "SELECT d.trace_id, d.span_id FROM decisions d, range(2) ORDER BY started LIMIT 6",
        )
    assert twice == once


def test_a_selected_decision_is_that_very_call_and_not_a_later_one_like_it(path: Path) -> None:
    query = "SELECT trace_id, span_id, 'tool:list_emails' AS event FROM decisions WHERE tool_names = ['list_emails']"
    with Store.open(path) as store:
        (decision, *_) = select_decisions(store, f"{query} ORDER BY started LIMIT 1")
        case = freeze_decision(load_calls(store, decision.trace_id), decision)
    assert case.origin.span_id == decision.span_id
    assert case.target.spec == "tool:list_emails"


def test_without_an_event_it_is_asked_why_the_tool_was_called(path: Path) -> None:
    with Store.open(path) as store:
        (decision, *_) = select_decisions(store, FORWARDS)
        assert freeze_decision(load_calls(store, decision.trace_id), decision).target.spec == "tool:forward_email"
