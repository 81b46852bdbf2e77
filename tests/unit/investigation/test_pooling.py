"""Evidence about one source from several cases: what counts, and how often it misleads."""

import json
import math
import random
from collections.abc import Sequence

import pytest

from whyspan.analysis.attribution.attribute import attribute
from whyspan.analysis.attribution.problem import Leaf, Options, Outcome, Role, Tally
from whyspan.analysis.attribution.result import Attribution
from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.claims import Verdict
from whyspan.analysis.investigation.findings import Finding, finding_span
from whyspan.analysis.investigation.pooling import Attempt, CaseEvidence, Family, Pooled, pool
from whyspan.analysis.statistics.evalues import log_e_value
from whyspan.analysis.targets import ToolTarget
from whyspan.ingest import conventions as names
from whyspan.ingest.calls import Api

ALPHA = 0.05
BASE = Tally(target=6)


def attempt(e_value: float, *, text: str = "mail", place: str = "results", draws: int = 6) -> Attempt:
    return Attempt(
        text=text, place=place, tally=Tally(other=draws), log_e=math.log(e_value), is_claimed=e_value >= 40
    )  # fmt: skip


def case(*attempts: Attempt, texts: str = "mail note") -> CaseEvidence:
    return CaseEvidence(
        texts=frozenset(texts.split()), places=frozenset(["results", "prompt"]), baseline=BASE, attempts=attempts
    )


def found(name: str, evidence: Sequence[CaseEvidence]) -> Pooled:
    return next(p for p in pool(evidence, alpha=ALPHA) if p.name == name)


def test_the_evidence_about_a_text_is_the_product_over_the_cases_that_hold_it() -> None:
    evidence = [case(attempt(60)), case(attempt(50)), case(attempt(70, text="note"), texts="note")]
    pooled = found("mail", evidence)
    assert math.exp(pooled.log_e) == pytest.approx(3000)
    assert [share.case for share in pooled.shares] == [0, 1]
    assert pooled.is_supported


def test_a_case_in_which_the_text_was_given_up_counts_against_it() -> None:
    pooled = found("mail", [case(attempt(60)), case(attempt(0.02)), case(attempt(50))])
    assert math.exp(pooled.log_e) == pytest.approx(60)
    assert not pooled.is_supported


@pytest.mark.parametrize("draws", [None, 0])
def test_a_case_in_which_the_text_was_not_drawn_counts_a_little_against_it(draws: int | None) -> None:
    silent = case() if draws is None else case(attempt(1.0, draws=draws))
    pooled = found("mail", [case(attempt(60)), silent])
    assert 20 < math.exp(pooled.log_e) < 60


def test_a_text_of_one_case_is_not_pooled() -> None:
    assert "only" not in {p.name for p in pool([case(attempt(1e9, text="only"), texts="only"), case()], alpha=ALPHA)}


def test_the_removals_of_one_place_are_averaged_within_a_case() -> None:
    both = case(attempt(0.1), attempt(90, text="note"))
    share = found("results", [both, case()]).shares[0]
    assert 90 * 0.3 / 2 < math.exp(share.log_e) < 90 / 2
    assert share.is_claimed


def test_removals_across_places_or_of_several_texts_belong_to_no_single_one() -> None:
    across = case(attempt(1e6, text="", place=""))
    assert all(p.log_e < 0 for p in pool([across, across], alpha=ALPHA))


def test_more_texts_in_common_need_more_evidence() -> None:
    few = [case(attempt(30)), case(attempt(30))]
    many = [
        case(attempt(30), texts=" ".join(["mail", *map(str, range(200))])),
        case(attempt(30), texts=" ".join(["mail", *map(str, range(200))])),
    ]
    assert found("mail", few).is_supported
    assert not found("mail", many).is_supported


def test_nothing_in_common_is_nothing_to_claim() -> None:
    assert pool([], alpha=ALPHA) == ()


def simulated(rate: float, rate_without: float, seed: int) -> CaseEvidence:
    """Explains a case of ten texts, the first of which may be its cause, and hands over all that was tested."""
    rng = random.Random(seed)
    leaves = [Leaf(text=f"text {n}", message=n // 3, role=Role.TOOL) for n in range(10)]
    core = attribute(leaves, "forward", Options(seed=seed))
    order = next(core)
    while True:
        replies = tuple(
            tuple(
                Outcome.TARGET if rng.random() < (rate_without if 0 in draw.removal else rate) else Outcome.OTHER
                for _ in range(draw.count)
            )
            for draw in order
        )
        try:
            order = core.send(replies)
        except StopIteration as end:
            result: Attribution = end.value
            break
    attempts = tuple(
        Attempt(
            text=f"text {min(n.removal)}" if len(n.removal) == 1 else "",
            place="results",
            tally=n.tally,
            log_e=n.log_e,
            is_claimed=any(c.removal == n.removal for c in result.claims),
        )
        for n in result.nominated
    )
    texts = frozenset(leaf.text for leaf in leaves)
    return CaseEvidence(texts=texts, places=frozenset(["results"]), baseline=result.baseline, attempts=attempts)


def test_where_nothing_is_a_cause_nothing_is_claimed() -> None:
    """Twelve investigations of three cases; at a share of 0.05 of false ones even one is unlikely."""
    investigations = [[simulated(0.6, 0.6, 3 * n + k) for k in range(3)] for n in range(12)]
    assert any(case.attempts for evidence in investigations for case in evidence)
    assert not any(p.is_supported for evidence in investigations for p in pool(evidence, alpha=ALPHA))


def cheated(rate: float, rng: random.Random) -> CaseEvidence:
    """A null case for a cheat, who tests after a lucky baseline only, goes on while behind and stops when ahead."""
    hits = sum(rng.random() < rate for _ in range(5))
    baseline, tally = Tally(target=hits, other=5 - hits), Tally()
    attempts: list[Attempt] = []
    if hits >= 5 * rate:
        log_e = 0.0
        while tally.draws < 12 and log_e < math.log(8):
            hit = rng.random() < rate
            tally += Tally(target=int(hit), other=int(not hit))
            log_e = log_e_value((tally.target, tally.draws), (hits, 5))
        attempts.append(Attempt(text="mail", place="results", tally=tally, log_e=log_e, is_claimed=False))
    return CaseEvidence(
        texts=frozenset(["mail"]), places=frozenset(["results"]), baseline=baseline, attempts=tuple(attempts)
    )


@pytest.mark.parametrize("rate", [0.35, 0.6, 0.9])
def test_a_cheat_does_not_get_beyond_the_stated_error_rate(rate: float) -> None:
    rng, investigations = random.Random(4), 800
    pooled = (pool([cheated(rate, rng) for _ in range(4)], alpha=ALPHA) for _ in range(investigations))
    assert sum(any(p.is_supported for p in found) for found in pooled) <= ALPHA * investigations


def test_a_cause_that_no_case_shows_alone_is_shown_by_all_together() -> None:
    """A drop from 0.6 to 0.2 that the search was stopped short of claiming."""
    evidence = [case(attempt(12)) for _ in range(6)]
    pooled = found("mail", evidence)
    assert pooled.is_supported
    assert not any(share.is_claimed for share in pooled.shares)


def finding(pooled: Pooled, evidence: Sequence[CaseEvidence]) -> Finding:
    cases = tuple(
        Case(
            api=Api.OPENAI_CHAT,
            request={"model": "m", "messages": [{"role": "user", "content": f"Mail {n}."}]},
            target=ToolTarget("forward"),
            origin=Origin(trace_id=f"{n + 1:032x}", span_id=f"{n + 1:016x}"),
        )
        for n in range(len(evidence))
    )
    return Finding(source=pooled, cases=cases, evidence=tuple(evidence))


def test_a_claim_names_its_cases_and_is_linked_to_their_decisions() -> None:
    evidence = [case(attempt(60)), case(attempt(50)), case()]
    span = finding_span(finding(found("mail", evidence), evidence), time_ns=1)
    assert [link.span_id for link in span.links] == [f"{n:016x}" for n in (1, 2, 3)]
    assert span.attributes[names.CLAIM_SCOPE] == "population"
    assert span.attributes[names.CLAIM_VERDICT] == Verdict.SUPPORTED.value
    assert span.attributes[names.TARGET] == "tool:forward"
    assert (span.attributes[names.CLAIM_BASE_N], span.attributes[names.CLAIM_N]) == (12, 12)
    told = json.loads(str(span.attributes[names.CLAIM_CASES]))
    assert [c["is_claimed"] for c in told] == [True, True, False]
    assert "mail" not in str(span.events[0].attributes["gen_ai.evaluation.explanation"])


def test_a_claim_made_again_is_the_same_claim_and_other_cases_make_another() -> None:
    evidence = [case(attempt(60)), case(attempt(50)), case(attempt(40))]
    spans = [finding_span(finding(found("mail", e), e), time_ns=t) for t, e in ((1, evidence), (2, evidence))]
    assert spans[0].span_id == spans[1].span_id
    fewer = finding_span(finding(found("mail", evidence[:2]), evidence[:2]), time_ns=1)
    assert fewer.attributes[names.CLAIM_ID] != spans[0].attributes[names.CLAIM_ID]


def test_the_families_are_told_apart() -> None:
    assert {p.family for p in pool([case(), case()], alpha=ALPHA)} == {Family.TEXT, Family.PLACE}
