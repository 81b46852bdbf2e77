"""Trials and claims as spans: deterministic, linked to the decision, readable by SQL names."""

from dataclasses import replace

from whyspan.analysis.attribution.problem import Outcome, Tally
from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.experiment import Trial
from whyspan.analysis.interventions import Noop, intervention_id
from whyspan.analysis.records import claim_span, explain, trial_span, without_content
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.reply_store import StoredReply
from whyspan.analysis.targets import ToolTarget
from whyspan.ingest import conventions as names
from whyspan.ingest.calls import Api, ModelReply, Usage

CASE = Case(
    api=Api.OPENAI_CHAT,
    request={"model": "m", "messages": [{"role": "user", "content": "Pay the rent."}]},
    target=ToolTarget("pay"),
    origin=Origin(trace_id="a" * 32, span_id="b" * 16, start_ns=1, service="s"),
)
CLAIM = Claim(
    case=CASE,
    kind="cause",
    detail="pushes",
    verdict=Verdict.SUPPORTED,
    subject="a secret sentence",
    intervention_id="c" * 64,
    base=Tally(target=9, other=1),
    changed=Tally(other=7),
    interval=(-1.0, -0.4),
    e_value=123.0,
    alpha=0.0225,
    calls=20,
    model="m",
)


def make_trial(sample: int = 0) -> Trial:
    reply = StoredReply(
        sample=sample,
        completion=Completion(reply=ModelReply(text="ok", model="m-1"), usage=Usage(input_tokens=5)),
        start_ns=10,
        end_ns=20,
    )
    return Trial(
        case=CASE, intervention=Noop(), intervention_id=intervention_id(Noop()), stored=reply,
        outcome=Outcome.OTHER, cached=False,
    )  # fmt: skip


def test_a_trial_is_the_same_span_whenever_it_is_written() -> None:
    assert trial_span(make_trial()) == trial_span(replace(make_trial(), cached=True))
    assert trial_span(make_trial(0)).span_id != trial_span(make_trial(1)).span_id


def test_a_trial_lives_in_its_own_trace_and_links_to_the_decision() -> None:
    span = trial_span(make_trial())
    assert span.trace_id != CASE.origin.trace_id
    assert [(link.trace_id, link.span_id) for link in span.links] == [("a" * 32, "b" * 16)]
    assert span.attributes[names.TRIAL_OUTCOME] == "other"
    assert span.attributes["gen_ai.usage.input_tokens"] == 5
    assert "gen_ai.usage.output_tokens" not in span.attributes


def test_a_claim_is_the_child_of_the_decision_with_one_link_and_one_event() -> None:
    span = claim_span(CLAIM, time_ns=5)
    assert (span.trace_id, span.parent_span_id) == ("a" * 32, "b" * 16)
    assert len(span.links) == 1
    assert [e.name for e in span.events] == ["gen_ai.evaluation.result"]
    assert span.attributes["openinference.span.kind"] == "EVALUATOR"
    assert span.attributes["evaluations.0.evaluation.score"] == CLAIM.effect == -0.9


def test_the_same_claim_is_the_same_span_and_other_figures_are_another() -> None:
    first = claim_span(CLAIM, time_ns=5)
    assert claim_span(CLAIM, time_ns=6).span_id == first.span_id
    again = replace(CLAIM, base=Tally(target=19, other=1))
    assert again.id == CLAIM.id
    assert claim_span(again, time_ns=5).span_id != first.span_id


def test_without_content_nothing_quotes_the_trace() -> None:
    text = str(without_content(claim_span(CLAIM, time_ns=5)))
    assert "secret" not in text
    assert "secret" not in explain(CLAIM)
    assert "9 of 10 replays as recorded, 0 of 7 with the piece removed" in explain(CLAIM)


def test_a_case_without_an_origin_gets_a_trace_of_its_own() -> None:
    span = claim_span(replace(CLAIM, case=replace(CASE, origin=Origin())), time_ns=5)
    assert len(span.trace_id) == 32
    assert span.parent_span_id is None
    assert span.links == ()
