"""How a hop tells whether a reply still does what it is asked about."""

import json
from typing import Any

import pytest

from whyspan.analysis.attribution.chain.questions import clues_of, question_about
from whyspan.analysis.attribution.chain.sources import Source, Way
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api, Completeness, Grade, ModelCall, ModelReply, ToolCall
from whyspan.ingest.spans import SpanId, TraceId


def make_call(*messages: tuple[str, str], reply: ModelReply | None = None) -> ModelCall:
    request = {"model": "m", "messages": [{"role": role, "content": text} for role, text in messages]}
    return ModelCall(
        trace_id=TraceId("a" * 32), span_id=SpanId("b" * 16), api=Api.OPENAI_CHAT, request=request,
        replies=(reply,) if reply else (), completeness=Completeness(grade=Grade.EXACT), start_ns=1, end_ns=2,
    )  # fmt: skip


def calling(arguments: dict[str, Any], name: str = "pay") -> ModelReply:
    return ModelReply(tool_calls=(ToolCall(name=name, arguments=json.dumps(arguments)),))


def test_values_that_the_user_or_the_prompt_named_first_are_no_clues() -> None:
    decision = calling({"order": "LC-5821", "to": "NW-4410", "urgent": True, "n": 7, "desk": "D-99"})
    first = make_call(
        ("system", "You work at desk D-99."), ("user", "Pay for LC-5821."), reply=ModelReply(text="NW-4410")
    )
    sub_agent = make_call(("user", "Use NW-4410."))
    assert clues_of(decision, [first, sub_agent]) == ("NW-4410",)


@pytest.mark.parametrize(
    ("clues", "yes", "no"),
    [
        (("NW-4410",), "I pay\nto nw-4410 now.", "I pay to NW-4411."),
        (("NW-4410", "2400"), "2400 goes to NW-4410.", "Something goes to NW-4410."),
        ((), "So:  send the deposit\n to NW-4410, soon.", "NW-4410 gets the deposit."),
        (("other",), "send the deposit to NW-4410, soon.", "NW-4410 gets the deposit."),
    ],
)
def test_a_text_counts_when_it_names_the_clues_or_else_says_the_same(clues: tuple[str, ...], yes: str, no: str) -> None:
    said = "Send the deposit to NW-4410, soon." if "2400" not in clues else "Send 2400 to NW-4410, soon."
    question = question_about(Source(call=make_call(), way=Way.TEXT, statement=said), clues)
    target = parse_target(question.target.spec)
    assert target.matches(ModelReply(text=yes))
    assert not target.matches(ModelReply(text=no))
    assert ("word for word" in question.judged) == (clues in [(), ("other",)])


def test_an_argument_counts_by_its_value_or_by_what_it_names() -> None:
    tool = ToolCall(name="ask", arguments=json.dumps({"task": {"the text": "Send it to NW-4410."}, "to": "bob"}))
    call = make_call()
    named = Source(call=call, way=Way.ARGUMENTS, statement="Send it to NW-4410.", tool=tool, path=("task", "the text"))
    target = parse_target(question_about(named, ("NW-4410",)).target.spec)
    assert target.matches(calling({"task": {"the text": "NW-4410, please"}}, "ask"))
    assert not target.matches(calling({"task": {"the text": "NW-1, please"}}, "ask"))
    whole = question_about(Source(call=call, way=Way.ARGUMENTS, statement="bob", tool=tool, path=("to",)), ("bob",))
    assert whole.target.spec == "tool:ask[to='bob']"


def test_a_call_for_a_result_must_have_the_arguments_that_were_read_while_its_own_wording_may_vary() -> None:
    call = make_call(("user", "Look at the list."), ("tool", "mails: m-104, m-105"))
    tool = ToolCall(name="read", arguments=json.dumps({"id": "m-104", "why": "it looks odd", "n": 3}))
    question = question_about(Source(call=call, way=Way.RESULT, statement="x", tool=tool), ())
    assert question.target.spec == "tool:read[id='m-104']"
    assert question.judged == "it calls read with id = 'm-104'"


def test_arguments_whose_place_is_not_found_count_by_the_tool_alone() -> None:
    tool = ToolCall(name="run", arguments="rm -rf /tmp/x")
    source = Source(call=make_call(), way=Way.ARGUMENTS, statement="rm -rf /tmp/x", tool=tool)
    assert question_about(source, ()).target.spec == "tool:run"
