"""Langfuse observations as spans: nothing is lost, ids are stable, and each is read by the dialect it came from."""

import json
from typing import Any

import pytest
from source_cases import observation

from whyspan.ingest.calls import Grade
from whyspan.ingest.errors import FormatError
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.sources.langfuse.ids import span_id_of, trace_id_of
from whyspan.ingest.sources.langfuse.metadata import cut_keys, read_metadata
from whyspan.ingest.sources.langfuse.observations import decode_observation, with_trace
from whyspan.ingest.sources.langfuse.scores import decode_score
from whyspan.ingest.spans import StatusCode

REQUEST = {
    "tools": [{"type": "function", "function": {"name": "get"}}],
    "messages": [{"role": "user", "content": "hi"}],
}
REPLY = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
]}  # fmt: skip


def test_a_generation_of_the_sdk_becomes_the_call_that_was_made() -> None:
    over = {"providedModelName": "gpt-4o", "modelParameters": {"temperature": 0.2}}
    span = decode_observation(observation(0, 1, input=json.dumps(REQUEST), output=json.dumps(REPLY), **over))
    (call,) = rebuild_calls([span], ())
    assert call.request["messages"] == REQUEST["messages"]
    assert call.request["tools"] == REQUEST["tools"]
    assert call.request["temperature"] == 0.2
    assert call.replies[0].tool_calls[0].name == "get"
    assert (call.usage.input_tokens, call.usage.output_tokens) == (3, 2)


def test_every_field_of_an_observation_is_in_its_span() -> None:
    over: dict[str, Any] = {
        "statusMessage": "it failed", "level": "ERROR", "version": "7", "environment": "prod", "userId": "u1",
        "sessionId": "s1", "completionStartTime": "2026-11-01T00:00:01.500Z", "providedModelName": "gpt-4o",
        "internalModelId": "m1", "usagePricingTierName": "batch", "promptId": "p1", "promptName": "greeting",
        "promptVersion": 3, "tags": ["x", "y"], "release": "r1", "traceName": "chat", "totalCost": 0.5,
        "costDetails": {"total": 0.5}, "metadata": {"team": "red", "n": 4},
    }  # fmt: skip
    span = decode_observation(observation(0, 1, **over))
    values = {str(value) for value in span.attributes.values()} | {span.status_message}
    for field, value in over.items():
        expected = {"tags": "('x', 'y')", "costDetails": '{"total":0.5}', "metadata": "red"}.get(field, str(value))
        assert expected in values, field
    assert span.attributes["langfuse.observation.metadata.n"] == "4"
    assert span.status_code is StatusCode.ERROR


def test_a_span_of_another_instrumentation_gets_its_attributes_back() -> None:
    metadata = {
        "attributes.gen_ai.operation.name": "chat",
        "attributes.gen_ai.request.model": "gpt-5",
        "resourceAttributes.service.name": "shop",
        "scope.name": "my.instrumentation",
        "scope.version": "2",
    }
    messages = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    span = decode_observation(observation(0, 1, metadata=metadata, input=json.dumps(messages), output=None))
    assert span.attributes["gen_ai.request.model"] == "gpt-5"
    assert json.loads(str(span.attributes["gen_ai.input.messages"])) == messages
    assert "langfuse.observation.input" not in span.attributes
    assert span.resource.attributes == {"service.name": "shop"}
    assert (span.scope.name, span.scope.version) == ("my.instrumentation", "2")


def test_tool_definitions_that_the_api_withholds_are_reported_with_the_remedy() -> None:
    metadata = {"attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}}
    asked = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    called = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "get", "arguments": {}}]}]
    span = decode_observation(observation(0, 1, metadata=metadata, input=json.dumps(asked), output=json.dumps(called)))
    (call,) = rebuild_calls([span], ())
    (gap,) = (m for m in call.completeness.missing if m.name.startswith("tools ("))
    assert call.completeness.grade is Grade.PARTIAL
    assert "--tools" in gap.remedy


def test_messages_that_are_in_the_attributes_already_are_not_read_twice() -> None:
    metadata = {"attributes": {"openinference.span.kind": "LLM", "input.value": "{}"}, "scope": {"name": "x"}}
    span = decode_observation(observation(0, 1, metadata=metadata, input="[1]", output="out"))
    assert span.attributes["input.value"] == "{}"
    assert span.attributes["output.value"] == "out"


def test_metadata_is_the_same_in_all_the_forms_that_servers_give() -> None:
    nested = {"attributes": {"a": "1"}, "scope": {"name": "s"}, "mine": "x"}
    flat = {"attributes.a": "1", "scope.name": "s", "mine": "x"}
    texts = {"attributes": '{"a": "1"}', "scope": '{"name": "s"}', "mine": "x"}
    assert read_metadata(nested) == read_metadata(flat) == read_metadata(texts) == read_metadata(json.dumps(nested))


def test_only_values_that_may_be_cut_are_asked_for_again() -> None:
    observations: list[dict[str, Any]] = [
        {"metadata": {"long": "x" * 200, "short": "x", "known": "y" * 300}},
        {"metadata": None},
    ]
    assert cut_keys(observations, ["known"]) == ["long"]


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("ab" * 16, "ab" * 16),
        ("0b0c27a5-7f36-4b8b-8ee3-7d22e75a1c4b", "0b0c27a57f364b8b8ee37d22e75a1c4b"),
    ],
)
def test_ids_that_can_be_kept_are_kept(id: str, expected: str) -> None:
    assert trace_id_of(id) == expected


def test_other_ids_are_hashed_always_in_the_same_way() -> None:
    assert trace_id_of("run 7") == trace_id_of("run 7") != trace_id_of("run 8")
    assert span_id_of("t1", "g1") == span_id_of("t1", "g1") != span_id_of("t2", "g1")
    assert len(trace_id_of("0" * 32).strip("0")) > 0
    span = decode_observation(observation(0, 1, id="g1", traceId="t1"))
    assert span.attributes["langfuse.trace.id"] == "t1"
    assert span.attributes["langfuse.observation.id"] == "g1"


def test_an_old_trace_becomes_the_root_of_its_observations() -> None:
    trace = {"id": "t1", "name": "chat", "timestamp": "2026-11-01T00:00:00.000Z", "input": {"q": "hi"}, "tags": ["a"]}
    inner = [observation(0, 0, id="g1", traceId="t1", parentObservationId=None)]
    child, root = map(decode_observation, with_trace(inner, {**trace, "observations": inner}))
    assert child.parent_span_id == root.span_id
    assert root.parent_span_id is None
    assert root.attributes["langfuse.observation.input"] == '{"q":"hi"}'
    assert child.attributes["langfuse.trace.tags"] == ("a",)


def test_a_trace_of_opentelemetry_has_its_root_already() -> None:
    trace = {"id": "a" * 32, "name": "chat", "timestamp": "2026-11-01T00:00:00.000Z"}
    assert len(list(with_trace([observation(0, 0)], trace))) == 1


@pytest.mark.parametrize("over", [{"startTime": None}, {"startTime": "soon"}, {"endTime": 5}])
def test_an_observation_without_a_time_is_an_error(over: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        decode_observation(observation(0, 0, **over))


@pytest.mark.parametrize(
    ("raw", "value", "label"),
    [
        ({"dataType": "NUMERIC", "value": 0.5}, 0.5, None),
        ({"dataType": "BOOLEAN", "value": True}, 1.0, "True"),
        ({"dataType": "BOOLEAN", "value": 1, "stringValue": "True"}, 1.0, "True"),
        ({"dataType": "CATEGORICAL", "value": "good"}, None, "good"),
        ({"dataType": "CATEGORICAL", "value": 0, "stringValue": "good"}, None, "good"),
        ({"dataType": "TEXT", "value": 0, "stringValue": "well"}, None, "well"),
    ],
)
def test_scores_of_every_type_keep_what_they_say(raw: dict[str, Any], value: float | None, label: str | None) -> None:
    known = {"id": "s", "name": "n", "timestamp": "2026-11-01T00:00:00Z", "traceId": "a" * 32}
    score = decode_score({**known, **raw})
    assert (score.value, score.label) == (value, label)
