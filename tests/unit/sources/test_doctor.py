import json
from pathlib import Path
from typing import Any

import pytest
from captures import FOLDER, load

from whyspan.cli.commands.doctor import LATEST
from whyspan.cli.main import main
from whyspan.ingest.calls import Grade
from whyspan.ingest.rebuild import diagnose
from whyspan.ingest.spans import Resource, Scope, Span, SpanId, TraceId
from whyspan.ingest.store import Store


def diagnosed(capture: str) -> Any:
    return diagnose([load(FOLDER / capture)])


def test_calls_are_counted_by_instrumentation_and_grade() -> None:
    report = diagnosed("openinference/stream").instrumentations["openinference.instrumentation.openai"]
    assert (report.calls, report.grades[Grade.EXACT]) == (3, 3)
    assert report.dialects == {"openinference"}


def test_capture_that_is_off_names_its_switch() -> None:
    report = diagnosed("semconv/content_off").instrumentations["opentelemetry.instrumentation.genai.openai"]
    remedies = {gap.remedy for gap in report.gaps if gap.name.startswith("messages")}
    assert any("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in remedy for remedy in remedies)


def test_positions_in_requests_are_counted_together() -> None:
    names = [gap.name for report in diagnosed("semconv/length_limit").instrumentations.values() for gap in report.gaps]
    assert sum(name.startswith("messages") for name in names) == 1


def test_a_run_that_says_nothing_of_a_model_is_reported() -> None:
    span = Span(
        trace_id=TraceId("a" * 32),
        span_id=SpanId("b" * 16),
        name="GET /",
        start_ns=1,
        end_ns=2,
        scope=Scope(name="http"),
    )
    diagnosis = diagnose([([span], [])])
    assert (diagnosis.runs_without_calls, dict(diagnosis.unread)) == (1, {"http": 1})


def test_command_reports_what_to_switch_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(tmp_path / "store")]
    capture = FOLDER / "semconv" / "content_off" / "spans.otlp.json"
    assert main([*store, "import", "otlp", str(capture)]) == 0
    assert main([*store, "doctor", "last"]) == 0
    shown = capsys.readouterr().out
    assert "3 not replayable" in shown
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in shown
    assert main([*store, "doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["grades"]["not_replayable"] == 3


def test_the_latest_runs_of_every_service_are_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = [
        Span(
            trace_id=TraceId(f"{n + 1:032x}"), span_id=SpanId(f"{n + 1:016x}"), name="GET /", start_ns=n, end_ns=n + 1,
            resource=Resource(attributes={"service.name": "busy" if n else "rare"}),
        )
        for n in range(LATEST + 10)
    ]  # fmt: skip
    with Store.create(tmp_path) as store:
        store.write(spans)
    assert main(["--store", str(tmp_path), "doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == LATEST + 1
