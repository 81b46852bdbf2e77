"""The LangChain handler of Langfuse lists tool definitions among the messages; a replay must not send them there."""

import json

from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import AnyValue, Span, SpanId, TraceId

DEFINITION = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":  "x"}'}}


def generation(input: object, output: object) -> Span:
    attributes: dict[str, AnyValue] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps(input),
        "langfuse.observation.output": json.dumps(output),
    }
    ids = {"trace_id": TraceId("a" * 32), "span_id": SpanId("b" * 16)}
    return Span(**ids, name="ChatOpenAI", start_ns=1, end_ns=2, attributes=attributes)  # type: ignore[arg-type]


def test_definitions_become_tools_and_no_messages() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "content": DEFINITION}]
    (call,) = rebuild_calls([generation(messages, {"role": "assistant", "content": "hello"})], ())
    assert call.request["messages"] == [{"role": "user", "content": "hi"}]
    assert call.request["tools"] == [DEFINITION]


def test_tool_calls_keep_the_string_that_the_model_wrote() -> None:
    parsed = {"name": "search", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}
    called = {"role": "assistant", "content": "", "tool_calls": [parsed], "additional_kwargs": {"tool_calls": [CALL]}}
    result = {"role": "tool", "content": "found", "tool_call_id": "c1"}
    (call,) = rebuild_calls([generation([{"role": "user", "content": "hi"}, called, result], called)], ())
    assert call.request["messages"][1]["tool_calls"] == [CALL]
    assert "additional_kwargs" not in call.request["messages"][1]
    assert call.replies[0].tool_calls[0].arguments == '{"q":  "x"}'


def test_a_tool_result_that_is_an_object_is_no_definition() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "content": {"type": "function"}}]
    (call,) = rebuild_calls([generation(messages, {"role": "assistant", "content": "hello"})], ())
    assert "tools" not in call.request


def test_a_bare_text_does_not_hide_the_answer_of_the_call_around_it() -> None:
    outer = generation([{"role": "user", "content": "hi"}], {"role": "assistant", "tool_calls": [CALL]})
    attributes = {**outer.attributes, "langfuse.observation.output": "None"}
    inner = Span(
        trace_id=outer.trace_id,
        span_id=SpanId("c" * 16),
        parent_span_id=outer.span_id,
        name="chat",
        start_ns=1,
        end_ns=2,
        attributes=attributes,
    )
    (call,) = rebuild_calls([outer, inner], ())
    assert [c.name for c in call.replies[0].tool_calls] == ["search"]
