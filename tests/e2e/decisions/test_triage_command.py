"""`whyspan triage` on runs of the demo's agents."""

import json
from collections.abc import Callable
from pathlib import Path

Whyspan = Callable[..., tuple[int, str, str]]


def test_the_planted_failures_are_nominated_with_their_reasons(whyspan: Whyspan) -> None:
    code, out, _ = whyspan("triage", "--json")
    nominations = json.loads(out)["nominations"]
    assert code == 0
    assert "tool:forward_email" in {n["event"] for n in nominations}
    assert all(n["reasons"] and n["score"] > 0 for n in nominations)


def test_the_policy_ranks_first_and_the_next_command_asks_about_it(whyspan: Whyspan) -> None:
    Path("whyspan.toml").write_text('[policy]\nnever = ["tool:drop_database"]\n')
    _, out, _ = whyspan("triage", "--limit", "3")
    assert "policy       the policy says never tool:drop_database" in out
    assert out.splitlines()[-1].endswith("tool:drop_database")


def test_explained_decisions_are_not_nominated_again(whyspan: Whyspan) -> None:
    _, out, _ = whyspan("triage", "--json")
    first = json.loads(out)["nominations"][0]
    whyspan("why", first["trace_id"], first["event"], "--model-fn", "model.py:model")
    _, out, _ = whyspan("triage", "--json")
    assert first["span_id"] not in {n["span_id"] for n in json.loads(out)["nominations"]}


def test_nothing_to_see_is_said(whyspan: Whyspan) -> None:
    code, out, _ = whyspan("triage", "--where", "service = 'nobody'")
    assert code == 0
    assert "nothing stands out" in out
