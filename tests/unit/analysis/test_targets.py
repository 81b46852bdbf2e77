import sys
from types import ModuleType
from typing import Any

import pytest

from whyspan.analysis.attribution.problem import Outcome
from whyspan.analysis.targets import parse_target, select
from whyspan.analysis.targets.classes import classify
from whyspan.ingest.calls import Api, Completeness, Grade, ModelCall, ModelReply, ToolCall
from whyspan.ingest.errors import NotFoundError, UsageError
from whyspan.ingest.spans import SpanId, TraceId


def calls(name: str, arguments: str = "{}") -> ModelReply:
    return ModelReply(tool_calls=(ToolCall(name=name, arguments=arguments),))


@pytest.mark.parametrize(
    ("spec", "arguments", "expected"),
    [
        ("tool:send", "{}", True),
        ("tool:other", "{}", False),
        ("tool:send[to~'@evil']", '{"to": "a@evil.example"}', True),
        ("tool:send[to~'^evil']", '{"to": "a@evil.example"}', False),
        ("tool:send[to='a b']", '{"to": "a b"}', True),
        ("tool:send[to!=x]", '{"to": "y"}', True),
        ("tool:send[to!=x]", '{"cc": "y"}', False),
        ("tool:send[amount>100]", '{"amount": 100.5}', True),
        ("tool:send[amount>=100, amount<200]", '{"amount": 100}', True),
        ("tool:send[amount<=99]", '{"amount": 100}', False),
        ("tool:send[amount=2400]", '{"amount": 2400.0}', True),
        ("tool:send[amount>5]", '{"amount": "many"}', False),
        ("tool:send[items.1.sku=b]", '{"items": [{"sku": "a"}, {"sku": "b"}]}', True),
        ("tool:send[items.*.sku=b]", '{"items": [{"sku": "a"}, {"sku": "b"}]}', True),
        ("tool:send[to.*~'evil']", '{"to": ["ann", "evil"]}', True),
        ("tool:send[items.7.sku=b]", '{"items": []}', False),
        ("tool:send[urgent=true]", '{"urgent": true}', True),
        (r"tool:send[note='it\'s']", '{"note": "it\'s"}', True),
        ("tool:send[ name = 'Zoë' ]", '{"name": "Zoë"}', True),
        ("tool:send[to~x]", "not json", False),
    ],
)
def test_a_tool_target_compares_arguments(spec: str, arguments: str, expected: bool) -> None:
    target = parse_target(spec)
    assert target.matches(calls("send", arguments)) is expected
    assert parse_target(target.spec) == target


@pytest.mark.parametrize(
    ("spec", "reply", "expected"),
    [
        ("text:/pa[iy]d/", ModelReply(text="I have paid it"), True),
        ("text:/a/b/", ModelReply(text="a/b"), True),
        ("no-tool", ModelReply(text="done"), True),
        ("no-tool", calls("send"), False),
        ("no-tool", ModelReply(error="400"), False),
        ("error", ModelReply(error="400"), True),
        ("error", ModelReply(text="x"), False),
        ("finish:length", ModelReply(finish_reason="length"), True),
        ("finish:length", ModelReply(finish_reason="max_tokens"), True),
        ("finish:length", ModelReply(finish_reason="MAX_TOKENS"), True),
        ("finish:length", ModelReply(finish_reason="stop"), False),
        ("finish:special", ModelReply(finish_reason="special"), True),
        ('calls:[["send", {"a": 1, "b": [2]}]]', calls("send", '{ "b": [2],  "a": 1 }'), True),
        ('calls:[["send", {"a": 1}]]', calls("send", '{"a": 2}'), False),
    ],
)
def test_other_targets(spec: str, reply: ModelReply, expected: bool) -> None:
    target = parse_target(spec)
    assert target.matches(reply) is expected
    assert parse_target(target.spec) == target


@pytest.mark.parametrize(
    ("spec", "column", "problem"),
    [
        ("tool:", 6, "the name of a tool"),
        ("tool:send[", 11, "a path"),
        ("tool:send[to ? 2]", 14, "one of ="),
        ("tool:send[to~'a]", 14, "a text that ends with '"),
        ("tool:send[to=]", 14, "a value"),
        ("tool:send[a=1 b=2]", 15, ", or ]"),
        ("tool:send[a=1]x", 15, "the end"),
        ("tool:send[to~'(x']", 15, "in the regular expression: missing )"),
        ("text:abc", 6, "expected /"),
        ("text:/abc", 10, "expected / after"),
        ("text:/a(/", 8, "in the regular expression"),
        ("finish:", 8, "a reason"),
        ("py:mod", 7, "expected :"),
        ("py:mod:1x", 8, "name of a function"),
        ('judge:"open', 12, 'expected "'),
        ("judge:", 7, "a question"),
        ("calls:[[", 9, "in the list of calls"),
        ("calls:[1]", 7, "a list of calls"),
    ],
)
def test_errors_point_at_the_character(spec: str, column: int, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(spec)
    first, shown, pointer = caught.value.message.split("\n")
    assert f"at character {column}:" in first
    assert problem in first
    assert shown.strip() == spec.strip()
    assert pointer == " " * (column + 1) + "^"


@pytest.mark.parametrize("spec", ["", "banana", "tool", "no-tools", "TOOL:x"])
def test_what_is_no_event_lists_the_events(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(spec)
    assert "tool:NAME" in (caught.value.hint or "")


def test_a_python_function_may_say_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("my_targets")
    module.polite = lambda reply: "please" in reply.text
    module.broken = lambda reply: 1 / 0
    monkeypatch.setitem(sys.modules, "my_targets", module)
    target = parse_target("py:my_targets:polite")
    assert target.matches(ModelReply(text="please"))
    assert not target.matches(ModelReply(text="now"))
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        parse_target("py:my_targets:broken").matches(ModelReply())
    with pytest.raises(UsageError, match="cannot be loaded"):
        parse_target("py:my_targets:missing").matches(ModelReply())
    with pytest.raises(UsageError, match="cannot be loaded"):
        parse_target("py:no_such_module_anywhere:f").matches(ModelReply())


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (calls("send", '{"to": "x"}'), Outcome.TARGET),
        (calls("archive"), Outcome.OTHER),
        (calls("read", '{ "id": 1 }'), Outcome.ASKS),
        (calls("read", '{"id": 2}'), Outcome.OTHER),
        (ModelReply(text="Done."), Outcome.OTHER),
        (ModelReply(text="To whom?"), Outcome.ASKS),
        (ModelReply(text="誰に送りますか\uff1f "), Outcome.ASKS),
        (ModelReply(text=""), Outcome.ASKS),
        (ModelReply(refusal="no", text="No."), Outcome.ASKS),
    ],
)
def test_an_outcome_is_the_target_another_action_or_a_step_back(reply: ModelReply, outcome: Outcome) -> None:
    known = frozenset({("read", '{"id":1}')})
    assert classify(parse_target("tool:send"), reply, known) is outcome


def recorded(n: int, reply: ModelReply | None) -> ModelCall:
    return ModelCall(
        trace_id=TraceId("a" * 32), span_id=SpanId(f"{n:016x}"), api=Api.OPENAI_CHAT, request={"model": "m"},
        replies=(reply,) if reply else (), completeness=Completeness(grade=Grade.EXACT), start_ns=n, end_ns=n,
    )  # fmt: skip


RUN = [
    recorded(1, calls("read", '{"id": 1}')),
    recorded(2, calls("send", '{"to": "a@evil"}')),
    recorded(3, calls("send", '{"to": "b"}')),
    recorded(4, ModelReply(error="timeout")),
    recorded(5, ModelReply(text="All done.")),
]


@pytest.mark.parametrize(
    ("event", "number", "spec"),
    [
        ("last", 5, "no-tool"),
        ("", 5, "no-tool"),
        ("#1", 1, 'calls:[["read", {"id": 1}]]'),
        ("#4", 4, "error"),
        ("span:0000000000000002", 2, 'calls:[["send", {"to": "a@evil"}]]'),
        ("tool:send", 3, "tool:send"),
        ("tool:send[to~'evil']", 2, "tool:send[to~'evil']"),
        ("text:/done/", 5, "text:/done/"),
        ("error", 4, "error"),
        ('judge:"is it done?"', 5, 'judge:"is it done?"'),
    ],
)
def test_an_event_picks_the_call_and_the_outcome(event: str, number: int, spec: str) -> None:
    call, target = select(RUN, event)
    assert (call.start_ns, target.spec) == (number, spec)


@pytest.mark.parametrize("event", ["#0", "#6", "span:ff", "tool:refund", "text:/never/"])
def test_an_event_that_no_call_has_lists_those_there_are(event: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        select(RUN, event)
    assert "tool:send" in (caught.value.hint or "")


def test_a_run_without_model_calls_says_what_is_read() -> None:
    with pytest.raises(NotFoundError, match="no model call"):
        select([], "last")
