"""What every registered dialect promises, checked on captures of real instrumentations.

A capture is a folder `tests/fixtures/dialects/<dialect>/<capture>/` with `spans.otlp.json`, perhaps `logs.otlp.json`,
and `requests.jsonl`, the bodies as the model server received them. New dialects and captures are found by themselves.
"""

from pathlib import Path
from typing import Any

import pytest
from captures import CAPTURES, FOLDER, load, rebuilt, sent_bodies, texts, without_transport

from whyspan.ingest.calls import Grade, ModelCall
from whyspan.ingest.dialects.registry import dialects
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.rebuild.reading import read_spans

each_capture = pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.name}-{path.name}")


@pytest.mark.parametrize("name", sorted(dialects()))
def test_dialect_has_captures_and_recognises_them(name: str) -> None:
    captures = [c for c in CAPTURES if c.parent.name == name]
    assert captures, f"add a capture under {FOLDER / name}"
    for capture in captures:
        readings = read_spans(*load(capture), dialects())
        assert any(name in reading.dialects for reading in readings), capture


@each_capture
def test_every_request_becomes_one_call(capture: Path) -> None:
    assert len(rebuilt(capture)) == len(sent_bodies(capture))


@each_capture
def test_rebuilt_requests_hold_no_text_that_was_not_sent(capture: Path) -> None:
    sent = {text for body in sent_bodies(capture) for text in texts(body)}
    for call in rebuilt(capture):
        assert set(texts(call.request)) - sent == set()


@each_capture
def test_requests_called_exact_are_what_was_sent(capture: Path) -> None:
    for call, sent in zip(rebuilt(capture), sent_bodies(capture), strict=True):
        if call.completeness.grade is Grade.EXACT:
            assert without_transport(call.request) == without_transport(sent)


@each_capture
def test_every_field_of_a_request_names_its_source(capture: Path) -> None:
    for call in rebuilt(capture):
        sourced = {name.partition(".")[0] for name in call.completeness.provenance}
        assert set(call.request) <= sourced


@each_capture
def test_a_call_that_lacks_something_says_what_and_why(capture: Path) -> None:
    for call in rebuilt(capture):
        if call.completeness.grade in (Grade.PARTIAL, Grade.NOT_REPLAYABLE):
            assert call.completeness.missing
        assert all(gap.name and gap.reason for gap in call.completeness.missing)


@each_capture
def test_order_of_arrival_does_not_matter(capture: Path) -> None:
    spans, logs = load(capture)
    assert _printed(rebuild_calls(spans[::-1], logs)) == _printed(rebuild_calls(spans, logs))


def _printed(calls: list[ModelCall]) -> list[dict[str, Any]]:
    return [call.to_json() for call in calls]


def test_calls_without_content_name_the_switch() -> None:
    (call, *_) = rebuild_calls(*load(FOLDER / "semconv" / "content_off"))
    assert call.completeness.grade is Grade.NOT_REPLAYABLE
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in call.completeness.missing[0].remedy
