"""Looking at what was recorded: show, diff, grep, query, drift."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from whyspan.cli.shelf import BUILT_IN, load_shelf, read_query
from whyspan.ingest.errors import FormatError
from whyspan.ingest.store import Store

Whyspan = Callable[..., tuple[int, str, str]]
EVENT = "tool:forward_email"
QUERIES = sorted(path.stem for path in BUILT_IN.glob("*.sql"))


@pytest.fixture
def failing(path: Path) -> str:
    """Gives a run in which the mail was forwarded."""
    query = "SELECT trace_id FROM decisions WHERE list_contains(tool_names, 'forward_email') ORDER BY started LIMIT 1"
    with Store.open(path) as store, store.connect() as db:
        (found,) = db.execute(query).fetchall()
    return str(found[0])


def test_show_draws_a_run_in_time(whyspan: Whyspan, failing: str) -> None:
    code, out, _ = whyspan("show", failing)
    lines = out.splitlines()
    assert code == 0
    assert any(line.lstrip().startswith("#1 chat standin-inbox") and "━" in line for line in lines)
    assert lines[-1] == f"next: whyspan why {failing[:12]} {EVENT}"


def test_show_marks_claims_and_highlights_the_cause_in_its_context(whyspan: Whyspan, failing: str) -> None:
    whyspan("why", failing, EVENT, "--model-fn", "model.py:model")
    _, out, _ = whyspan("show", failing)
    assert "◆ cause supported" in out
    _, out, _ = whyspan("show", failing, EVENT)
    (cause,) = [line for line in out.splitlines() if line.startswith("cause  ")]
    assert "forward the Brightwell invoice" in cause
    _, out, _ = whyspan("show", failing, EVENT, "--json")
    assert json.loads(out)["claims"][0]["verdict"] == "supported"


def test_show_in_json_has_the_rows(whyspan: Whyspan, failing: str) -> None:
    _, out, _ = whyspan("show", failing, "--json")
    document = json.loads(out)
    assert document["run_id"] == failing
    assert {row["kind"] for row in document["rows"]} == {"model", "tool", "other"}


def test_diff_shows_where_two_runs_part(whyspan: Whyspan, failing: str, path: Path) -> None:
    with Store.open(path) as store, store.connect() as db:
        other = db.execute("SELECT run_id FROM runs WHERE service = 'ops-agent' LIMIT 1").fetchall()[0][0]
    _, out, _ = whyspan("diff", failing, other, "--json")
    document = json.loads(out)
    assert document["runs"] == [failing, other]
    assert document["parting"]
    assert any("e-mail" in text for text in document["only_a"])
    _, out, _ = whyspan("diff", failing, failing)
    assert "both did the same" in out


def test_grep_finds_the_tool_that_brought_a_text_in(whyspan: Whyspan, failing: str) -> None:
    code, out, _ = whyspan("grep", "harrow-billing", failing, "--json")
    (entry,) = json.loads(out)["entries"]
    assert code == 0
    assert entry["first"]["where"].startswith("execute_tool read_email")
    assert (entry["reader"], entry["read_as"]) == (3, "tool")


def test_grep_finds_the_runs_that_hold_a_text(whyspan: Whyspan, failing: str) -> None:
    _, out, _ = whyspan("grep", "-i", "-e", "HARROW.billing", "--json")
    entries = json.loads(out)["entries"]
    assert failing in {e["run_id"] for e in entries}
    assert all("harrow-billing" in e["first"]["quote"] for e in entries)
    code, out, _ = whyspan("grep", "no such text")
    assert (code, out) == (1, "no run holds 'no such text'\n")


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_of_the_shelf_runs(whyspan: Whyspan, name: str) -> None:
    given = ["tool=forward_email"] if name == "decisions_like" else []
    code, out, _ = whyspan("query", name, *given, "--json")
    assert code == 0
    assert json.loads(out)["columns"]


def test_every_query_of_the_shelf_is_documented() -> None:
    documented = (Path(__file__).parents[3] / "docs/queries.md").read_text()
    assert all(f"`{name}`" in documented for name in QUERIES)


def test_the_shelf_takes_a_users_own_queries(whyspan: Whyspan, path: Path) -> None:
    (path / "queries").mkdir()
    (path / "queries/mine.sql").write_text(
        "-- Runs of a service.\n-- $service: its name\nSELECT $service AS s, 1 AS one\n"
    )
    assert load_shelf(path)["mine"].is_own
    _, out, _ = whyspan("query", "mine", "service=x", "--csv")
    assert out == "s,one\nx,1\n"
    code, _, err = whyspan("query", "mine")
    assert code == 2
    assert "needs service: its name" in err
    code, _, err = whyspan("query", "mine", "servce=x")
    assert "did you mean 'service'?" in err


def test_a_query_that_does_not_say_what_it_answers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bare.sql").write_text("SELECT 1")
    with pytest.raises(FormatError, match="does not say what it answers"):
        read_query(tmp_path / "bare.sql", is_own=True)


def test_drift_shows_rates_and_the_standing_of_claims(whyspan: Whyspan, failing: str) -> None:
    whyspan("why", failing, EVENT, "--model-fn", "model.py:model")
    _, out, _ = whyspan("drift", EVENT, "--where", "service = 'inbox-agent'", "--json")
    document = json.loads(out)
    (period,) = document["periods"]
    assert period["hits"] == 2
    assert period["interval"][0] < period["rate"] < period["interval"][1]
    assert {c["state"] for c in document["claims"]} == {"holds"}
    _, out, _ = whyspan("drift", EVENT)
    assert "claims about this outcome" in out
