import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from whyspan.analysis.attribution.problem import Tally
from whyspan.analysis.cases import Case
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.fixes.candidates import Candidate
from whyspan.analysis.fixes.fix import FixReport
from whyspan.analysis.fixes.guarding import Guarding, GuardTally
from whyspan.analysis.fixes.guards import GuardCase
from whyspan.analysis.fixes.horizon import Horizon, Reach
from whyspan.analysis.fixes.verify import Measured, Word
from whyspan.analysis.interventions import InsertRule, SwapModel
from whyspan.analysis.targets import parse_target
from whyspan.cli.output import Paint
from whyspan.cli.report.fix_text import render_fix
from whyspan.ingest.calls import Api

CASE = Case(api=Api.OPENAI_CHAT, request={"model": "m", "messages": []}, target=parse_target("tool:pay"))


def make_measured(word: Word = Word.HOLDS, **over: Any) -> Measured:
    verdict = {Word.HOLDS: Verdict.SUPPORTED, Word.HARMFUL: Verdict.HARMFUL}.get(word, Verdict.INCONCLUSIVE)
    claim = Claim(
        case=CASE, kind="fix", verdict=verdict, detail=word.value, subject="s", intervention_id="i",
        base=Tally(target=22, other=2), changed=Tally(target=1, other=23), interval=(-1.0, -0.5), e_value=1e9,
        alpha=0.01, calls=48, model="m",
    )  # fmt: skip
    candidate = Candidate(name="x", title="a title", intervention=InsertRule("Never pay."))
    return replace(Measured(candidate=candidate, claim=claim, residual=(0.0, 0.2)), **over)


def lines(measured: Sequence[Measured], **over: Any) -> list[str]:
    report = FixReport(case=CASE, why=cast(Any, SimpleNamespace()), measured=tuple(measured), calls=48, paid=48)
    return list(render_fix(replace(report, **over), Paint(False)))


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (make_measured(), "1 of 24  (0.04)  holds        0.00 to 0.20 left"),
        (make_measured(Word.REDUCES), "reduces      0.00 to 0.20 left"),
        (make_measured(Word.FAILS), "fails        0.00 to 0.20"),
        (make_measured(Word.HARMFUL), "harmful      breaks decisions that were right"),
        (make_measured(Word.INCONCLUSIVE, more_calls=24), "inconclusive about 24 more calls would tell"),
        (make_measured(Word.INCONCLUSIVE, refusal="400: bad schema"), "inconclusive refused: 400: bad schema"),
    ],
)
def test_every_verdict_has_its_words(measured: Measured, words: str) -> None:
    assert words in "\n".join(lines([measured]))


def test_the_best_rule_is_there_to_be_copied() -> None:
    assert "    Never pay." in lines([make_measured()])


def test_a_best_change_that_is_no_rule_is_named() -> None:
    swap = Candidate(name="model", title="model m-2", intervention=SwapModel("m-2"))
    assert "  do this: model m-2" in lines([make_measured(candidate=swap)])


def test_without_a_fix_it_says_so() -> None:
    assert "  None of these candidates stops it." in lines([make_measured(Word.FAILS)])


def test_a_decision_that_does_not_come_again_leaves_nothing_to_stop() -> None:
    measured = make_measured(Word.INCONCLUSIVE)
    never = replace(measured, claim=replace(measured.claim, base=Tally(other=20), changed=Tally(other=20)))
    assert any("there is nothing to stop" in line for line in lines([never]))


def test_other_runs_and_guard_cases_have_their_lines() -> None:
    guard = GuardCase(case=CASE, reason="run 12")
    right, wrong = Tally(target=12), Tally(other=12)
    broken = Guarding(tallies=(GuardTally(guard=guard, base=right, changed=wrong),), alpha=0.05)
    horizon = Horizon(runs=(Reach(case=CASE, tally=Tally(target=2, other=10)), Reach(case=CASE, tally=Tally(other=12))))
    text = "\n".join(lines([make_measured(Word.HARMFUL, guarding=broken, horizon=horizon)], guards=(guard,)))
    assert "in 2 other failing runs: 2 of 24  (0.08), in 1 of them" in text
    assert re.search(r"right decisions break: 0 of 12 +\(0\.00\), 1\.00 before: run 12", text)
    assert "guard cases: run 12" in text


def test_without_guard_cases_nothing_is_promised() -> None:
    text = " ".join(line.strip() for line in lines([make_measured()]))
    assert "whether a fix breaks right decisions is not known" in text


def test_text_of_a_trace_cannot_drive_the_terminal() -> None:
    candidate = Candidate(name="x", title="a\x1b[2Jtitle", intervention=InsertRule("rule \x1b]0;title\x07"))
    assert "\x1b" not in "\n".join(lines([make_measured(candidate=candidate)]))
