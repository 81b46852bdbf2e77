"""`whyspan investigate` over several recorded decisions."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.ingest.spans import TraceId
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

Whyspan = Callable[..., tuple[int, str, str]]
QUERY = (
    "SELECT trace_id, span_id, 'tool:forward_email' AS event FROM decisions "
    "WHERE list_contains(tool_names, 'forward_email')"
)
MODEL = ("--model-fn", "model.py:model", "--budget", "400")
PLANTED = SCENARIOS["inbox"].planted


def test_what_several_decisions_have_in_common_is_claimed_of_them(whyspan: Whyspan, more_inboxes: Path) -> None:
    code, out, _ = whyspan("investigate", "-d", "who?", "--select", QUERY, *MODEL, "--json")
    document = json.loads(out)
    assert (code, document["description"]) == (0, "who?")
    assert document["cases"] >= 4
    assert {h["subject"] for h in document["hypotheses"]} == {PLANTED}
    pooled = {p["source"]: p for p in document["pooled"]}
    for source in (PLANTED, "the result of read_email"):
        assert pooled[source]["verdict"] == "supported"
        assert pooled[source]["e_value"] >= 1 / pooled[source]["alpha"]
        assert len(pooled[source]["cases"]) == document["cases"]
        assert pooled[source]["effect"] < -0.7
    with Store.open(more_inboxes) as store:
        rows = run_query(store, "SELECT claim_id, cases FROM claims WHERE scope = 'population'").records()
    stored = {row["claim_id"]: json.loads(row["cases"]) for row in rows}
    assert set(stored) == {p["id"] for p in document["pooled"] if p["verdict"] == "supported"}
    assert stored[pooled[PLANTED]["id"]] == pooled[PLANTED]["cases"]


def test_a_claim_about_several_decisions_can_be_looked_at(whyspan: Whyspan, more_inboxes: Path) -> None:
    _, out, _ = whyspan("investigate", "--select", QUERY, *MODEL)
    assert "decisions that hold it" in out
    with Store.open(more_inboxes) as store:
        row = run_query(store, "SELECT claim_id FROM claims WHERE scope = 'population'").records()[0]
    code, _, err = whyspan("report", row["claim_id"][:12], "--html", "page.html")
    assert code == 0, err
    assert "Cause in some of several decisions" in Path("page.html").read_text()


def test_what_was_paid_for_before_is_free(whyspan: Whyspan) -> None:
    whyspan("why", "--select", QUERY, *MODEL)
    code, out, _ = whyspan("investigate", "--select", QUERY, "--model-fn", "model.py:model", "--budget", "1")
    assert code == 0
    assert "2 decisions, a cause was found in 2" in out


def test_one_decision_is_searched_for_every_cause_and_nothing_is_pooled(whyspan: Whyspan) -> None:
    _, out, _ = whyspan("investigate", "last", "last", *MODEL, "--json")
    document = json.loads(out)
    assert (document["cases"], document["pooled"]) == (1, [])


def test_a_request_that_was_recorded_twice_is_one_case(whyspan: Whyspan, path: Path) -> None:
    with Store.open(path) as store:
        first = run_query(store, f"{QUERY} ORDER BY started").records()[0]
        store.write([replace(s, trace_id=TraceId("f" * 32)) for s in store.spans(TraceId(first["trace_id"]))])
    both = f"{QUERY} AND trace_id IN ('{first['trace_id']}', '{'f' * 32}')"
    code, out, _ = whyspan("investigate", "--select", both, *MODEL, "--json")
    document = json.loads(out)
    assert (code, document["cases"], document["left_out"]) == (0, 1, 1)
