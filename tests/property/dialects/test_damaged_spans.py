"""Spans that SDK limits, exporters and bugs have damaged: no crash, nothing made up, nothing damaged called exact."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from captures import CAPTURES, load, sent_bodies, texts, without_transport
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whyspan.ingest.calls import Grade, ModelCall
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import AnyValue, LogRecord, Span, SpanEvent

captures = st.sampled_from([c for c in CAPTURES if next(c.glob("spans.*")).stat().st_size < 60_000])
run = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
replacements: st.SearchStrategy[AnyValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False),
    st.binary(max_size=8),
    st.just(()),
    st.just({}),
    st.sampled_from(["", "[", "{}", "[[]]", '[{"role": 1}]', '{"messages": [[]]}', '[{"parts": 3}]', "null"]),
)


def is_exact_only_when_equal(calls: Sequence[ModelCall], sent: Sequence[Mapping[str, Any]]) -> bool:
    bodies = [without_transport(body) for body in sent]
    return all(without_transport(call.request) in bodies for call in calls if call.completeness.grade is Grade.EXACT)


def is_sent(calls: Sequence[ModelCall], sent: Sequence[Mapping[str, Any]]) -> bool:
    known = {text for body in sent for text in texts(body)}
    # Where the provider is lost too, an earlier answer stands as text that the wire form would only refer to.
    known |= {reply.text for call in calls for reply in call.replies}
    return all(set(texts(spoken(call.request))) <= known for call in calls)


def spoken(body: Any) -> Any:
    """Returns the conversation in a body, without roles: they are spelled as the API wants, once it is known."""
    if isinstance(body, Mapping):
        return {key: spoken(value) for key, value in body.items() if key not in ("role", "model", "stop")}
    return [spoken(item) for item in body] if isinstance(body, list) else body


def drop_some(attributes: Mapping[str, AnyValue], rng: random.Random, share: float) -> dict[str, AnyValue]:
    return {key: value for key, value in attributes.items() if rng.random() >= share}


def cut(value: AnyValue, limit: int) -> AnyValue:
    return value[:limit] if isinstance(value, str) else value


@run
@given(captures, st.randoms(use_true_random=False), st.sampled_from([0.02, 0.2, 0.7]))
def test_missing_attributes_invent_nothing(capture: Any, rng: random.Random, share: float) -> None:
    spans, logs = load(capture)
    damaged = [
        replace(
            span,
            attributes=drop_some(span.attributes, rng, share),
            events=tuple(replace(e, attributes=drop_some(e.attributes, rng, share)) for e in span.events),
            dropped_attributes_count=1,
        )
        for span in spans
    ]
    kept = [replace(r, attributes=drop_some(r.attributes, rng, share)) for r in logs if rng.random() >= share]
    calls = rebuild_calls(damaged, kept)
    assert is_sent(calls, sent_bodies(capture))
    assert is_exact_only_when_equal(calls, sent_bodies(capture))


@run
@given(captures, st.integers(60, 3000))
def test_values_cut_at_the_sdk_limit_are_never_called_exact(capture: Any, limit: int) -> None:
    spans, logs = load(capture)
    damaged = [replace(s, attributes={k: cut(v, limit) for k, v in s.attributes.items()}) for s in spans]
    assert is_exact_only_when_equal(rebuild_calls(damaged, logs), sent_bodies(capture))


@run
@given(captures, st.data())
def test_values_of_the_wrong_type_do_not_crash(capture: Any, data: st.DataObject) -> None:
    spans, logs = load(capture)
    damaged = []
    for span in spans:
        keys = data.draw(st.sets(st.sampled_from(sorted(span.attributes)), max_size=4)) if span.attributes else set()
        mangled = {key: data.draw(replacements) for key in keys}
        events = tuple(_mangle_event(event, data) for event in span.events[:3])
        damaged.append(replace(span, attributes={**span.attributes, **mangled}, events=events))
    broken = [replace(record, body=data.draw(replacements)) for record in logs[:5]]
    calls = rebuild_calls(damaged, broken)
    assert is_exact_only_when_equal(calls, sent_bodies(capture))


def _mangle_event(event: SpanEvent, data: st.DataObject) -> SpanEvent:
    return replace(event, attributes={key: data.draw(replacements) for key in event.attributes})


@run
@given(captures, st.randoms(use_true_random=False))
def test_spans_may_arrive_in_any_order_and_logs_of_one_span_apart(capture: Any, rng: random.Random) -> None:
    spans, logs = load(capture)
    shuffled = rng.sample(spans, len(spans))
    by_span: dict[str | None, list[LogRecord]] = {}
    for record in logs:
        by_span.setdefault(record.span_id, []).append(record)
    groups = rng.sample(sorted(by_span, key=str), len(by_span))
    regrouped = [record for group in groups for record in by_span[group]]
    before = [call.to_json() for call in rebuild_calls(spans, logs)]
    assert [call.to_json() for call in rebuild_calls(shuffled, regrouped)] == before


@run
@given(captures, st.randoms(use_true_random=False))
def test_lost_spans_do_not_change_what_is_said_of_the_others(capture: Any, rng: random.Random) -> None:
    spans, logs = load(capture)
    kept: list[Span] = [span for span in spans if rng.random() >= 0.4]
    calls = rebuild_calls(kept, logs)
    assert is_exact_only_when_equal(calls, sent_bodies(capture))
    assert {call.span_id for call in calls} <= {span.span_id for span in kept}


@given(st.dictionaries(st.text(max_size=40), replacements, max_size=8))
def test_attributes_of_any_kind_are_survived(attributes: dict[str, AnyValue]) -> None:
    prefixes = ("gen_ai.input.messages", "llm.input_messages.0.", "gen_ai.prompt.0.", "input.value", "ai.operationId")
    mixed = attributes | {prefix + key: value for key, value in attributes.items() for prefix in prefixes}
    span = replace(load(CAPTURES[0])[0][0], attributes={**mixed, "openinference.span.kind": "LLM"})
    assert len(rebuild_calls([span], [])) <= 1
