"""A session whose calls each have a trace of their own is one run."""

import json
from pathlib import Path

from whyspan.analysis.targets import select
from whyspan.ingest.calls import Grade
from whyspan.ingest.rebuild import load_run
from whyspan.ingest.spans import AnyValue, Span, SpanId, TraceId
from whyspan.ingest.store import Store


def responses_call(number: int, request: dict[str, object], text: str) -> Span:
    """A call of the Responses API in a trace of its own, as OpenInference records it."""
    reply = {
        "id": f"resp_{number}",
        "model": "gpt-4o",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}],
    }
    attributes: dict[str, AnyValue] = {
        "openinference.span.kind": "LLM",
        "session.id": "ticket-7",
        "input.value": json.dumps({"model": "gpt-4o", **request}),
        "input.mime_type": "application/json",
        "output.value": json.dumps(reply),
        "output.mime_type": "application/json",
    }
    return Span(
        trace_id=TraceId(f"{number:032x}"), span_id=SpanId(f"{number:016x}"), name="Response",
        start_ns=number * 1000, end_ns=number * 1000 + 1, attributes=attributes,
    )  # fmt: skip


def test_a_request_that_continues_one_of_another_trace_is_asked_about_as_a_whole(tmp_path: Path) -> None:
    first = responses_call(1, {"input": "My bike is late."}, "I am sorry.")
    second = responses_call(
        2, {"previous_response_id": "resp_1", "input": [{"role": "user", "content": "Refund it."}]}, "Done."
    )
    with Store.create(tmp_path / "store") as store:
        store.write([first, second])
        alone = load_run(store, second.trace_id)
        together = load_run(store, "ticket-7")
    assert [c.span_id for c in together] == [first.span_id, second.span_id]
    assert together[1].request == alone[0].request, "what was sent is the delta"
    asked, _ = select(together, "last")
    assert asked.request["input"] == [
        {"role": "user", "content": "My bike is late."},
        {"role": "assistant", "content": "I am sorry."},
        {"role": "user", "content": "Refund it."},
    ]
    assert "previous_response_id" not in asked.request
    assert asked.completeness.grade is Grade.SEMANTIC
    assert select(alone, "last")[0] == alone[0], "half of a conversation is none"


def test_a_delta_whose_tool_results_answer_unknown_calls_stays_as_it_is(tmp_path: Path) -> None:
    result = {"type": "function_call_output", "call_id": "call_x", "output": "42"}
    spans = [
        responses_call(1, {"input": "How many?"}, "I will look."),
        responses_call(2, {"previous_response_id": "resp_1", "input": [result]}, "42."),
    ]
    with Store.create(tmp_path / "store") as store:
        store.write(spans)
        calls = load_run(store, "ticket-7")
    assert select(calls, "last")[0] == calls[1]
