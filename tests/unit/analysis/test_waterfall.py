"""Runs as rows, and runs side by side."""

from typing import Any

from whyspan.analysis.comparison import compare_runs
from whyspan.analysis.waterfall import RowKind, build_waterfall, tree_order
from whyspan.ingest import conventions as names
from whyspan.ingest.calls import Api, Completeness, Grade, ModelCall, ModelReply, ToolCall, Usage
from whyspan.ingest.spans import Scope, Span, SpanId, StatusCode, TraceId

TRACE = TraceId("a" * 32)


def span(n: int, parent: int | None = None, **over: Any) -> Span:
    fields: dict[str, Any] = {
        "trace_id": TRACE, "span_id": SpanId(f"{n:016x}"), "name": f"span {n}",
        "start_ns": n * 100, "end_ns": n * 100 + 50,
        "parent_span_id": SpanId(f"{parent:016x}") if parent is not None else None,
    }  # fmt: skip
    return Span(**{**fields, **over})


def call(n: int, *tools: str, heard: tuple[str, ...] = ("Hello.",), said: str = "", **over: Any) -> ModelCall:
    reply = ModelReply(text=said, tool_calls=tuple(ToolCall(name=t, arguments='{"a": 1}') for t in tools))
    fields: dict[str, Any] = {
        "trace_id": TRACE, "span_id": SpanId(f"{n:016x}"), "api": Api.OPENAI_CHAT, "start_ns": n, "end_ns": n + 1,
        "request": {"model": "m", "messages": [{"role": "user", "content": text} for text in heard]},
        "replies": (reply,), "completeness": Completeness(grade=Grade.EXACT), "usage": Usage(input_tokens=7),
    }  # fmt: skip
    return ModelCall(**{**fields, **over})


def test_rows_are_in_tree_order_with_times_from_the_start_of_the_run() -> None:
    failed = span(3, 1, status_code=StatusCode.ERROR, status_message="no", attributes={"gen_ai.tool.name": "pay"})
    waterfall = build_waterfall([span(1, end_ns=400), span(2, 1), failed], [call(2, "pay")])
    assert [(r.depth, r.kind, r.number, r.offset_ns) for r in waterfall.rows] == [
        (0, RowKind.OTHER, None, 0),
        (1, RowKind.MODEL, 1, 100),
        (1, RowKind.TOOL, None, 200),
    ]
    assert (waterfall.duration_ns, waterfall.input_tokens, waterfall.errors) == (300, 7, 1)
    assert waterfall.rows[1].outcome == "tool:pay"


def test_claims_are_marks_on_their_decision_with_the_latest_figures() -> None:
    def claim(n: int, verdict: str) -> Span:
        attributes = {
            names.KIND: names.KIND_CLAIM, names.DECISION_SPAN_ID: f"{2:016x}", names.CLAIM_ID: "c",
            names.CLAIM_KIND: "cause", names.CLAIM_VERDICT: verdict, names.CLAIM_EFFECT: -0.9,
        }  # fmt: skip
        return span(n, 2, scope=Scope(name=names.SCOPE_NAME), attributes=attributes)

    waterfall = build_waterfall([span(2), claim(8, "supported"), claim(5, "inconclusive")], [call(2)])
    assert [[mark.verdict for mark in row.marks] for row in waterfall.rows] == [["supported"]]


def test_circles_and_lost_parents_lose_no_span() -> None:
    spans = [span(1, 2), span(2, 1), span(3, 99)]
    assert sorted(s.span_id for _, s in tree_order(spans)) == sorted(s.span_id for s in spans)


def test_runs_part_where_they_first_do_something_else() -> None:
    left = [call(1, "look"), call(2, "pay", heard=("Hello.", "Pay now.")), call(3, said="Done.")]
    right = [call(1, "look"), call(2, "ask", heard=("Hello.", "Be careful.")), call(3, said="Fine.")]
    found = compare_runs(left, right)
    assert [pair.is_same for pair in found.pairs] == [True, False, False, True]
    assert found.parting == (left[1], right[1])
    assert found.context is not None
    assert [s.text for s in found.context.only_left] == ["Pay now."]
    assert [s.text for s in found.context.only_right] == ["Be careful."]


def test_another_argument_is_another_step_and_another_format_is_not() -> None:
    spaced = ModelReply(tool_calls=(ToolCall(name="look", arguments='{ "a":1 }'),))
    other = ModelReply(tool_calls=(ToolCall(name="look", arguments='{"a": 2}'),))
    assert compare_runs([call(1, "look")], [call(1, replies=(spaced,))]).parting is None
    assert compare_runs([call(1, "look")], [call(1, replies=(other,))]).parting is not None


def test_a_run_that_only_goes_on_has_no_parting() -> None:
    found = compare_runs([call(1, "look")], [call(1, "look"), call(2, "pay")])
    assert found.parting is None
    assert [pair.is_same for pair in found.pairs] == [True, False]


def test_parameters_that_differ_are_named() -> None:
    warm = call(1, "pay", request={"model": "m", "temperature": 1, "messages": []})
    cold = call(1, "ask", request={"model": "m", "temperature": 0, "messages": []})
    context = compare_runs([warm], [cold]).context
    assert context is not None
    assert context.parameters == (("temperature", 1, 0),)
