"""Which earlier call a piece of a request came from."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from whyspan.analysis.attribution.chain.sources import Way, argument_values, find_source, has_read
from whyspan.analysis.segments import Segment, segment
from whyspan.ingest.calls import Api, Completeness, Grade, ModelCall, ModelReply, ToolCall
from whyspan.ingest.spans import SpanId, TraceId

Messages = list[dict[str, Any]]
USER = {"role": "user", "content": "Please look after the order of last Tuesday."}
ORDER = "Suppliers expect the deposit on account NW-4410 before delivery."


def make_call(number: int, messages: Messages, text: str = "", calls: Sequence[ToolCall] = ()) -> ModelCall:
    return ModelCall(
        trace_id=TraceId("a" * 32), span_id=SpanId(f"{number:016x}"), api=Api.OPENAI_CHAT,
        request={"model": "m", "messages": messages}, replies=(ModelReply(text=text, tool_calls=tuple(calls)),),
        completeness=Completeness(grade=Grade.EXACT), start_ns=number * 10, end_ns=number * 10 + 5,
    )  # fmt: skip


def read_by(call: ModelCall, words: str) -> Segment:
    return next(s for s in segment(call.api, call.request).segments if words in s.text)


def asked(call_id: str, arguments: dict[str, Any], name: str = "tool") -> dict[str, Any]:
    made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def gave(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def tool_call(call_id: str, arguments: dict[str, Any], name: str = "tool") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=json.dumps(arguments))


def source_of(words: str, reader: ModelCall, *calls: ModelCall) -> tuple[str, Way, str, tuple[str, ...]] | None:
    found = find_source(read_by(reader, words), reader.request, reader.span_id, [*calls, reader])
    return (found.call.span_id[-1], found.way, found.statement, found.path) if found else None


def test_the_models_own_words_come_from_the_call_that_said_them() -> None:
    plan = "First I check. Then I pay."
    first = make_call(1, [USER], plan)
    second = make_call(2, [USER, {"role": "assistant", "content": plan}], "Then I pay.")
    later = make_call(
        3, [USER, {"role": "assistant", "content": plan}, {"role": "assistant", "content": "Then I pay."}]
    )
    assert source_of("Then I pay.", later, first, second) == ("1", Way.TEXT, "Then I pay.", ())


def test_a_heading_is_not_taken_off_a_sentence_that_was_said_as_it_is() -> None:
    first, second = make_call(1, [USER], "Plan: pay."), make_call(2, [USER], "Shall I pay.")
    later = make_call(3, [{"role": "assistant", "content": "Plan: pay."}])
    assert source_of("Plan", later, first, second) == ("1", Way.TEXT, "Plan: pay.", ())


def test_call_arguments_come_from_the_call_that_wrote_them_and_the_path_is_told() -> None:
    arguments = {"to": {"name": "Ann", "city": "Bonn"}, "lines": ["Send it. Hurry up.", "12"]}
    maker = make_call(1, [USER], calls=[tool_call("c1", arguments)])
    reader = make_call(2, [USER, asked("c1", arguments), gave("c1", "ok")])
    assert source_of("Bonn", reader, maker) == ("1", Way.ARGUMENTS, "Bonn", ("to", "city"))
    assert source_of("Hurry", reader, maker) == ("1", Way.ARGUMENTS, "Hurry up.", ("lines", "0"))


def test_arguments_nested_too_deeply_count_as_a_whole() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert list(argument_values(ToolCall(name="tool", arguments=deep))) == [((), deep)]


def test_a_result_comes_from_the_call_that_asked_for_it() -> None:
    maker = make_call(1, [USER], calls=[tool_call("c1", {"file": "x"})])
    reader = make_call(2, [USER, asked("c1", {"file": "x"}), gave("c1", f"A page. {ORDER}")])
    assert source_of("Suppliers", reader, maker) == ("1", Way.RESULT, ORDER, ())


def gemini(number: int, *replies: ToolCall, turns: Messages) -> ModelCall:
    call = replace(make_call(number, [], calls=replies), api=Api.GEMINI_GENERATE)
    return replace(call, request={"model": "m", "contents": [{"role": "user", "parts": [{"text": "Hi."}]}, *turns]})


def test_without_ids_a_result_comes_from_the_latest_call_of_its_tool_when_that_is_clear() -> None:
    asks: Messages = [{"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"file": "x"}}}]}]
    answers: Messages = [
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"text": f"A page. {ORDER}"}}}]}
    ]
    once, other = ToolCall(name="read", arguments='{"file": "x"}'), ToolCall(name="look", arguments="{}")
    reader = gemini(3, turns=[*asks, *answers])
    assert source_of("Suppliers", reader, gemini(1, once, turns=[]), gemini(2, other, turns=[])) == (
        "1", Way.RESULT, ORDER, (),
    )  # fmt: skip
    assert source_of("Suppliers", reader, gemini(1, once, once, turns=[])) is None


def test_a_result_that_a_model_inside_the_tool_wrote_comes_from_that_model() -> None:
    maker = make_call(1, [USER], ORDER, calls=[tool_call("c1", {"question": "Which account?"})])
    before = make_call(0, [USER], ORDER)
    inside = make_call(2, [{"role": "user", "content": "Which account?"}], f"I looked. {ORDER}")
    reader = make_call(3, [USER, asked("c1", {"question": "Which account?"}), gave("c1", f"I looked. {ORDER}")])
    assert source_of("Suppliers", reader, before, maker, inside) == ("2", Way.TEXT, ORDER, ())
    assert source_of("Suppliers", reader, before, maker) == ("1", Way.RESULT, ORDER, ())


def test_a_result_that_echoes_the_arguments_comes_from_them() -> None:
    arguments = {"query": "how to pay a supplier in advance"}
    maker = make_call(1, [USER], calls=[tool_call("c1", arguments)])
    result = json.dumps({**arguments, "results": ["none"]})
    reader = make_call(2, [USER, asked("c1", arguments, "other"), gave("c1", result)])
    piece = next(s for s in segment(reader.api, reader.request).segments if s.role == "tool" and "advance" in s.text)
    found = find_source(piece, reader.request, reader.span_id, [maker, reader])
    assert found
    assert (found.way, found.path) == (Way.ARGUMENTS, ("query",))


def test_a_sub_agents_task_comes_from_the_agent_that_wrote_it() -> None:
    task = {"task": f"Read this and act. {ORDER}"}
    parent = make_call(1, [USER], calls=[tool_call("c1", task)])
    child = make_call(2, [{"role": "user", "content": task["task"]}])
    assert source_of("Suppliers", child, parent) == ("1", Way.ARGUMENTS, ORDER, ("task",))
    wrapped = make_call(2, [{"role": "user", "content": f"Your task is this: {ORDER}"}])
    assert source_of("Your task", wrapped, parent) == ("1", Way.ARGUMENTS, ORDER, ("task",))


@pytest.mark.parametrize("role", ["user", "system"])
def test_what_was_given_before_anybody_wrote_it_comes_from_outside(role: str) -> None:
    given = {"role": role, "content": ORDER}
    first = make_call(1, [given], f"You say: {ORDER}")
    reader = make_call(2, [given, {"role": "assistant", "content": "Yes."}, USER])
    assert source_of("Suppliers", reader, first) is None


def test_short_words_of_others_are_nobodys() -> None:
    first = make_call(1, [USER], "Yes, pay it.")
    other = make_call(2, [{"role": "user", "content": "pay it."}])
    assert source_of("pay it.", other, first) is None


def test_a_text_that_no_call_of_the_trace_wrote_has_no_source() -> None:
    reader = make_call(2, [USER, {"role": "assistant", "content": ORDER}, gave("c9", "a page")])
    assert source_of("Suppliers", reader, make_call(1, [USER], "Something else.")) is None
    assert source_of("a page", reader, make_call(1, [USER], "Something else.")) is None


def test_a_call_has_read_something_when_the_run_brought_it_in() -> None:
    parent = make_call(1, [USER], ORDER)
    alone, talking = make_call(2, [USER]), make_call(3, [USER, {"role": "assistant", "content": "Hm."}])
    briefed = make_call(4, [{"role": "user", "content": ORDER}])
    run = [parent, alone, talking, briefed]
    assert [has_read(call, run) for call in run] == [False, False, True, True]


def test_the_same_result_in_the_same_place_of_two_agents_is_each_ones_own() -> None:
    one, other = tool_call("c1", {"file": "x"}), tool_call("c2", {"file": "y"})
    first = make_call(1, [USER], calls=[one])
    reads = make_call(2, [USER, asked("c1", {"file": "x"}), gave("c1", "all is well")])
    second = make_call(3, [USER], calls=[other])
    reader = make_call(4, [USER, asked("c2", {"file": "y"}), gave("c2", "all is well")])
    assert source_of("all is well", reader, first, reads, second) == ("3", Way.RESULT, "all is well", ())
