"""Knowledge: fixes enter as proposals, audits find what tests do not bear out, locks keep others out."""

from dataclasses import replace
from pathlib import Path

import pytest

from whyspan.analysis.attribution.problem import Tally
from whyspan.analysis.cases import Case
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.interventions import InsertRule, intervention_id
from whyspan.analysis.learning.knowledge import Knowledge, open_knowledge
from whyspan.analysis.learning.lessons import Lesson
from whyspan.analysis.learning.playbook import Status
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
