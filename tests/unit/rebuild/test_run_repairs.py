"""What the rest of a run adds to one request, on spans made by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from whyspan.ingest.calls import Api, Grade
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import LogRecord, Scope, Span, SpanId, TraceId

TRACE = TraceId("a" * 32)


def make_span(number: int, attributes: Mapping[str, Any], **over: Any) -> Span:
    """A span that starts at second `number` and takes half of one."""
    fields: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": SpanId(f"{number:016x}"),
        "parent_span_id": SpanId("f" * 16),
        "name": "chat",
        "start_ns": number * 10**9,
        "end_ns": number * 10**9 + 5 * 10**8,
        "scope": Scope(name="test"),
    }
    return Span(**(fields | {"attributes": attributes} | over))


def chat(messages: Sequence[Any], output: Sequence[Any] = (), **attributes: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(output),
        **{key.replace("__", "."): value for key, value in attributes.items()},
    }


def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def called(call_id: str, arguments: Any, name: str = "add") -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def answered(call_id: str, response: Any = "3") -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": response}


def test_argument_strings_come_back_from_the_reply_that_wrote_them() -> None:
    written = '{"a": 1,  "b": 2.0}'
    first = make_span(1, chat([said("user", text("?"))], [said("assistant", called("c1", written))]))
    history = [
        said("user", text("?")),
        said("assistant", called("c1", {"a": 1, "b": 2.0})),
        said("tool", answered("c1")),
    ]
    _, second = rebuild_calls([first, make_span(2, chat(history))], [])
    assert second.request["messages"][1]["tool_calls"][0]["function"]["arguments"] == written


def test_traces_of_one_session_are_one_run() -> None:
    written = '{"a":   1}'
    session = {"gen_ai__conversation__id": "s-1"}
    first = make_span(1, chat([said("user", text("?"))], [said("assistant", called("c1", written))], **session))
    history = [said("user", text("?")), said("assistant", called("c1", {"a": 1})), said("tool", answered("c1"))]
    later = make_span(2, chat(history, **session), trace_id=TraceId("b" * 32), parent_span_id=None)
    _, second = rebuild_calls([first, later], [])
    assert second.request["messages"][1]["tool_calls"][0]["function"]["arguments"] == written


def test_arguments_that_differ_from_the_reply_are_kept() -> None:
    first = make_span(1, chat([said("user", text("?"))], [said("assistant", called("c1", '{"a": 1}'))]))
    history = [said("user", text("?")), said("assistant", called("c1", {"a": 99})), said("tool", answered("c1"))]
    _, second = rebuild_calls([first, make_span(2, chat(history))], [])
    assert json.loads(second.request["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {"a": 99}


def test_a_request_of_new_items_only_names_the_response_before() -> None:
    first = make_span(
        1,
        chat([said("user", text("?"))], [said("assistant", called("c1", "{}"))], gen_ai__response__id="resp_1"),
    )
    delta = chat([said("tool", answered("c1"))], gen_ai__response__id="resp_2")
    _, second = rebuild_calls([first, make_span(2, delta)], [])
    assert second.api is Api.OPENAI_RESPONSES
    assert second.request["previous_response_id"] == "resp_1"
    assert second.request["input"] == [{"type": "function_call_output", "call_id": "c1", "output": "3"}]


def test_a_list_that_was_cut_goes_on_with_what_the_run_knows() -> None:
    start = [said("user", text("?")), said("assistant", called("c1", "{}")), said("tool", answered("c1"))]
    first = make_span(1, chat(start, [said("assistant", text("hm"), called("c2", "{}"))]))
    whole = json.dumps([*start, said("assistant", text("hm"), called("c2", "{}")), said("tool", answered("c2"))])
    cut = chat([]) | {"gen_ai.input.messages": whole[: len(json.dumps(start)) + 20]}
    _, second = rebuild_calls([first, make_span(2, cut)], [])
    assert second.completeness.grade is Grade.NOT_REPLAYABLE
    assert second.request["messages"][-1] == {"role": "tool", "tool_call_id": "c2", "content": None}


@pytest.mark.parametrize("inner_id", ["r-1", ""])
def test_a_call_inside_a_call_is_the_same_call(inner_id: str) -> None:
    outer = make_span(1, chat([said("user", text("outer view"))], gen_ai__response__id="r-1"))
    inner = make_span(
        2,
        chat([said("user", text("wire view"))], gen_ai__response__id=inner_id),
        parent_span_id=outer.span_id,
        start_ns=outer.start_ns + 1,
        end_ns=outer.end_ns - 1,
        scope=Scope(name="client"),
    )
    (call,) = rebuild_calls([outer, inner], [])
    assert call.request["messages"][0]["content"] == "wire view"
    assert call.span_id == inner.span_id


def test_a_wrapper_around_several_requests_is_no_call_itself() -> None:
    outer = make_span(1, chat([said("user", text("all"))]), end_ns=9 * 10**9)
    inner = [make_span(n, chat([said("user", text(str(n)))]), parent_span_id=outer.span_id) for n in (2, 3)]
    assert [c.span_id for c in rebuild_calls([outer, *inner], [])] == [s.span_id for s in inner]


def test_parallel_calls_of_one_library_stay_apart() -> None:
    both = [make_span(n, chat([said("user", text(str(n)))]), start_ns=10**9, end_ns=2 * 10**9) for n in (1, 2)]
    assert len(rebuild_calls(both, [])) == 2


def test_events_piled_up_on_the_parent_are_dealt_out() -> None:
    agent = make_span(0, {"gen_ai.operation.name": "invoke_agent"}, span_id=SpanId("f" * 16), parent_span_id=None)
    bare = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m"}
    calls = [make_span(1, bare), make_span(2, bare)]

    def event(name: str, body: Any) -> LogRecord:
        return LogRecord(
            trace_id=TRACE,
            span_id=agent.span_id,
            time_ns=0,
            event_name=f"gen_ai.{name}",
            body=body,
            scope=Scope(name="test"),
        )

    pile = [
        event("user.message", {"content": "one"}),
        event("choice", {"message": {"content": "1"}}),
        event("user.message", {"content": "two"}),
        event("choice", {"message": {"content": "2"}}),
    ]
    first, second = rebuild_calls([agent, *calls], pile)
    assert [c.request["messages"][0]["content"] for c in (first, second)] == ["one", "two"]
    assert second.replies[0].text == "2"


def test_tools_and_settings_come_from_the_agent_of_the_same_library() -> None:
    tools = json.dumps([{"type": "function", "name": "add", "parameters": {"type": "object"}}])
    agent = make_span(
        0,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.seed": 5, "gen_ai.tool.definitions": tools},
        span_id=SpanId("f" * 16),
        parent_span_id=None,
        end_ns=10**10,
    )
    (call,) = rebuild_calls([agent, make_span(1, chat([said("user", text("?"))]))], [])
    assert call.request["seed"] == 5
    assert call.request["tools"][0]["function"]["name"] == "add"
    assert call.completeness.provenance["seed"].startswith("enclosing span")


def test_own_spans_are_not_analysed() -> None:
    own = make_span(1, chat([said("user", text("?"))]), scope=Scope(name="whyspan"))
    assert rebuild_calls([own], []) == []


def test_agents_that_record_tools_only_imply_their_calls() -> None:
    agent = make_span(
        0,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "sums"},
        span_id=SpanId("f" * 16),
        parent_span_id=None,
        end_ns=10**10,
    )
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.arguments": "{}",
        "gen_ai.tool.call.result": "3",
    }
    first, last = rebuild_calls([agent, make_span(3, tool)], [])
    assert (first.completeness.grade, last.completeness.grade) == (Grade.NOT_REPLAYABLE, Grade.NOT_REPLAYABLE)
    assert last.request["messages"][-1]["content"] == "3"
    assert "no span reports this call" in last.completeness.missing[0].reason
