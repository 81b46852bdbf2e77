"""Cases: identity, JSON, and refusing what cannot be replayed."""

from dataclasses import replace

import pytest

from whyspan.analysis.cases import Case, Origin, freeze
from whyspan.analysis.targets import TextTarget, ToolTarget
from whyspan.ingest.calls import Api, Completeness, Grade, MissingField, ModelCall
from whyspan.ingest.errors import FormatError, NotReplayableError
from whyspan.ingest.spans import SpanId, TraceId

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5}


def make_call(grade: Grade, *missing: MissingField) -> ModelCall:
    return ModelCall(
        trace_id=TraceId("a" * 32), span_id=SpanId("b" * 16), api=Api.OPENAI_CHAT, request=REQUEST,
        completeness=Completeness(grade=grade, missing=missing), start_ns=1, end_ns=2, service="svc",
    )  # fmt: skip


def test_the_id_depends_on_request_and_target_and_not_on_the_origin() -> None:
    case = Case(api=Api.OPENAI_CHAT, request=REQUEST, target=ToolTarget("pay"))
    reordered = dict(reversed(REQUEST.items()))
    assert case.id == replace(case, origin=Origin(trace_id="x"), request=reordered).id
    assert case.id != replace(case, target=TextTarget("Hi")).id
    assert case.id != case.with_request({**REQUEST, "temperature": 1}).id


def test_a_case_survives_json() -> None:
    case = freeze(make_call(Grade.EXACT), ToolTarget("pay"))
    assert Case.from_json(case.to_json()) == case


@pytest.mark.parametrize("field", ["api", "target", "request", "origin"])
def test_a_missing_field_is_named(field: str) -> None:
    value = freeze(make_call(Grade.EXACT), ToolTarget("pay")).to_json()
    del value[field]
    with pytest.raises(FormatError, match=f"no field '{field}'"):
        Case.from_json(value)


def test_a_call_without_messages_cannot_be_frozen_and_says_what_to_switch_on() -> None:
    missing = MissingField(name="messages", reason="content capture off", remedy="set CAPTURE=true")
    with pytest.raises(NotReplayableError, match=r"messages \(content capture off\)") as caught:
        freeze(make_call(Grade.NOT_REPLAYABLE, missing), ToolTarget("pay"))
    assert caught.value.hint == "set CAPTURE=true"
