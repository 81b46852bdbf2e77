"""What other back ends are told about a claim."""

from dataclasses import replace

from claims import CLAIM, SECRET, make_result

from whyspan.analysis.claims import Verdict
from whyspan.analysis.records import claim_span
from whyspan.analysis.writeback.otlp import OtlpTarget
from whyspan.analysis.writeback.results import result_of
from whyspan.ingest.otlp import decode_logs, decode_traces
from whyspan.ingest.remote import Account, Remote
from whyspan.ingest.spans import Span, SpanId, TraceId

DECISION = Span(
    trace_id=TraceId("a" * 32),
    span_id=SpanId("b" * 16),
    name="chat",
    start_ns=1,
    end_ns=2,
    attributes={"session.id": "s1", "langfuse.trace.name": "inbox", "langfuse.trace.tags": ("x",), "other": "y"},
)


def test_the_comment_of_every_verdict_has_the_figures_and_the_link() -> None:
    for verdict in Verdict:
        comment = make_result(replace(CLAIM, verdict=verdict)).comment
        assert comment.count("e-value 123") == 1
        assert comment.count("[-1.00, -0.40]") == 1
        assert "9 of 10 replays as recorded, 0 of 7" in comment
        assert comment.endswith("https://why/1")


def test_content_is_told_only_when_asked() -> None:
    assert SECRET not in str(make_result())
    assert SECRET in make_result(include_content=True).comment


def test_a_span_for_langfuse_repeats_what_belongs_to_the_whole_trace() -> None:
    span = result_of(claim_span(CLAIM, time_ns=10), DECISION, include_content=False).span
    shared = {k: v for k, v in span.attributes.items() if not k.startswith(("whyspan.", "evaluations.", "gen_ai."))}
    expected = {k: v for k, v in DECISION.attributes.items() if k != "other"}
    assert shared == {**expected, "openinference.span.kind": "EVALUATOR"}


def test_the_span_and_the_event_are_about_the_decision() -> None:
    result = make_result()
    with Remote(Account(base_url="http://127.0.0.1:1")) as remote:
        traces, logs = OtlpTarget(remote, has_paths=True).deliveries([result])
    (span,), (event,) = decode_traces(traces.body), decode_logs(logs.body)
    assert (span.trace_id, span.parent_span_id) == ("a" * 32, "b" * 16)
    assert [(link.trace_id, link.span_id) for link in span.links] == [("a" * 32, "b" * 16)]
    assert (event.event_name, event.trace_id, event.span_id) == ("gen_ai.evaluation.result", "a" * 32, "b" * 16)
    assert event.attributes["gen_ai.evaluation.score.label"] == "supported"
