"""Knowledge: fixes enter as proposals, audits find what tests do not bear out, locks keep others out."""

from dataclasses import replace
from pathlib import Path

import pytest

from whyspan.analysis.attribution.problem import Tally
from whyspan.analysis.cases import Case
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.interventions import InsertRule, intervention_id
from whyspan.analysis.learning.lessons.knowledge import Knowledge, branches, make_branch, open_knowledge
from whyspan.analysis.learning.lessons.lesson import Lesson
from whyspan.analysis.learning.lessons.playbook import Status
from whyspan.analysis.learning.lessons.run_state import start_run
from whyspan.analysis.learning.lessons.shelf import changes
from whyspan.analysis.records import claim_span
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api
from whyspan.ingest.errors import NotFoundError, UsageError
from whyspan.ingest.store import Store

RULE = InsertRule('Don\'t pay; "ask" first.\nAlways.')
CASE = Case(api=Api.OPENAI_CHAT, request={"model": "m", "messages": []}, target=parse_target("tool:pay"))
FIX = Claim(
    case=CASE, kind="fix", verdict=Verdict.SUPPORTED, detail="holds", subject=RULE.summary,
    intervention_id=intervention_id(RULE), base=Tally(target=9, other=1), changed=Tally(other=10),
    interval=(-1.0, -0.4), e_value=400.0, alpha=0.05, calls=20, model="m",
)  # fmt: skip


def test_a_fix_that_holds_on_one_case_enters_as_a_proposal(tmp_path: Path) -> None:
    knowledge = Knowledge(tmp_path / "k")
    with Store.create(tmp_path / "store") as store:
        store.write([claim_span(FIX, time_ns=1), claim_span(replace(FIX, kind="cause"), time_ns=2)])
        item = knowledge.propose_fix(store, FIX.id[:10])
        assert (item.lesson.action, item.status, item.confidence) == (RULE.rule, Status.PROPOSED, 0.0)
        assert item.evidence["level"] == "case"
        with pytest.raises(NotFoundError):
            knowledge.propose_fix(store, replace(FIX, kind="cause").id)
    assert Knowledge(tmp_path / "k").lessons() == [item.lesson]


def test_an_audit_finds_evidence_that_no_test_bears_out(tmp_path: Path) -> None:
    knowledge = Knowledge(tmp_path)
    lesson = Lesson(action="be brief")
    evidence = {"claim": "clm_1", "e": 9204.88, "epoch": "e"}
    knowledge.playbook.put(lesson, Status.ACTIVE, evidence=evidence, scope={})
    assert list(knowledge.audit()) == ["rule_001 is active, but no test of it is on record"]
    entry = knowledge.book.reserve(lesson.id, epoch="e", run="r", alpha=0.01)
    knowledge.book.settle(replace(entry, decision="admitted", blocks=(1.0,) * 16))
    assert list(knowledge.audit()) == []
    knowledge.playbook.put(lesson, Status.ACTIVE, evidence={**evidence, "e": 1e9}, scope={})
    assert next(knowledge.audit()).startswith("rule_001 states e = 1000000000.0, the tests give 9205")


def test_two_processes_never_work_on_one_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_knowledge("s"), pytest.raises(UsageError, match="another process"), open_knowledge("s"):
        pass


def test_a_branch_goes_on_from_what_was_learned_and_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_knowledge("s") as main:
        main.playbook.put(Lesson(action="a"), Status.ACTIVE, evidence={"claim": "c", "epoch": "e"}, scope={})
        main.book.reserve("l1", epoch="e", run="r1", alpha=0.01)
        main.begin_epoch("e")
        stopped = start_run(main, "e", "conservative")
    assert make_branch("s", "bold") == "s@bold"
    with open_knowledge("s@bold") as branch:
        assert branch.shelf.lessons == {Lesson(action="a").id: "a"}
        assert branch.book.reserve("l2", epoch="e", run="r2", alpha=0.2).number == 2  # numbered on
        assert start_run(branch, "e", "conservative").run != stopped.run  # a stopped run is not continued here
        branch.demote(branch.playbook.items[0])
        now = branch.shelf.lessons
    with open_knowledge("s") as main:
        assert list(changes(main.shelf.lessons, now)) == ["- a"]
        assert main.book.tested == 1
        assert start_run(main, "e", "conservative") == stopped
    assert branches("s") == ["s@bold"]


def test_a_branch_is_made_before_it_is_used_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError) as missing, open_knowledge("s@bold"):
        pass
    assert missing.value.hint == "whyspan knowledge branch --scenario s --name bold"
    make_branch("s", "bold")
    with pytest.raises(UsageError, match="already"):
        make_branch("s@bold", "bold")
    with pytest.raises(UsageError, match="no name"):
        make_branch("s", "a@b")
