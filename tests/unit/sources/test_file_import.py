import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from whyspan.cli.main import main
from whyspan.ingest.errors import UsageError
from whyspan.ingest.otlp import decode_traces, encode_logs, encode_traces
from whyspan.ingest.sources import import_files
from whyspan.ingest.spans import LogRecord, Span, SpanId, TraceId

TRACE = TraceId("5b8efff798038103d269b633813fc60c")


def otlp_span(**over: Any) -> dict[str, Any]:
    span = {
        "traceId": TRACE,
        "spanId": "eee19b7ec3c1b174",
        "name": "chat",
        "startTimeUnixNano": "1760000000000000000",
        "endTimeUnixNano": "1760000001000000000",
    }
    return span | over


def otlp(*spans: dict[str, Any]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": list(spans)}]}]})


class Memory:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []

    def write(self, spans: Any, logs: Any = ()) -> None:
        self.spans += spans
        self.logs += logs


def imported(path: Path, content: bytes | str) -> tuple[Memory, tuple[str, ...]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    memory = Memory()
    report = import_files(memory, [str(path)])
    assert report.spans == len(memory.spans)
    return memory, tuple(reject.reason for reject in report.rejects)


def test_one_bad_span_does_not_stop_the_others(tmp_path: Path) -> None:
    bad = otlp_span(spanId="eee19b7ec3c1b175", startTimeUnixNano="yesterday")
    memory, reasons = imported(tmp_path / "t.json", otlp(otlp_span(), bad, otlp_span(spanId="eee19b7ec3c1b176")))
    assert [span.span_id for span in memory.spans] == ["eee19b7ec3c1b174", "eee19b7ec3c1b176"]
    assert len(reasons) == 1
    assert "startTimeUnixNano" in reasons[0]


@pytest.mark.parametrize("ids", [{"traceId": ""}, {"spanId": "0000000000000000"}, {"traceId": "abcd"}])
def test_a_span_without_identity_is_rejected(tmp_path: Path, ids: dict[str, str]) -> None:
    memory, reasons = imported(tmp_path / "t.json", otlp(otlp_span(**ids)))
    assert memory.spans == []
    assert "id" in reasons[0]


def test_json_lines_are_read_line_by_line(tmp_path: Path) -> None:
    lines = [otlp(otlp_span()), "{broken", otlp(otlp_span(spanId="eee19b7ec3c1b176"))]
    memory, reasons = imported(tmp_path / "t.jsonl", "\n".join(lines))
    assert len(memory.spans) == 2
    assert reasons[0].startswith("not JSON")


def test_protobuf_spans_and_logs_are_told_apart(tmp_path: Path) -> None:
    span = Span(trace_id=TRACE, span_id=SpanId("eee19b7ec3c1b174"), name="n", start_ns=1, end_ns=2)
    log = LogRecord(time_ns=3, event_name="gen_ai.choice", body={"index": 0}, trace_id=TRACE)
    spans, _ = imported(tmp_path / "a.pb", encode_traces([span]))
    logs, _ = imported(tmp_path / "b.pb", encode_logs([log]))
    assert (spans.spans, logs.logs) == ([span], [log])


def test_length_prefixed_protobuf_is_read(tmp_path: Path) -> None:
    message = encode_traces([Span(trace_id=TRACE, span_id=SpanId("eee19b7ec3c1b174"), name="n", start_ns=1, end_ns=2)])
    framed = b"".join(len(m).to_bytes(4, "big") + m for m in (message, message))
    memory, reasons = imported(tmp_path / "t.pb", framed)
    assert (len(memory.spans), reasons) == (2, ())


def test_compressed_files_are_opened(tmp_path: Path) -> None:
    data = otlp(otlp_span()).encode()
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    assert len(imported(tmp_path / "t.json.gz", gzip.compress(data))[0].spans) == 1
    assert len(imported(tmp_path / "t.json.zst", sink.getvalue().to_pybytes())[0].spans) == 1


def test_a_damaged_archive_is_rejected(tmp_path: Path) -> None:
    memory, reasons = imported(tmp_path / "t.json.gz", gzip.compress(b"{}" * 1000)[:30])
    assert memory.spans == []
    assert "damaged" in reasons[0]


def test_a_folder_stands_for_its_telemetry_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.json").write_text(otlp(otlp_span()))
    (tmp_path / "notes.md").write_text("not telemetry")
    report = import_files(Memory(), [str(tmp_path)])
    assert (report.files, report.spans, report.rejects) == (1, 1, ())


def test_console_exporter_output_is_read(tmp_path: Path) -> None:
    span = {
        "name": "chat",
        "context": {"trace_id": "0x" + TRACE, "span_id": "0xeee19b7ec3c1b174", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT",
        "parent_id": None,
        "start_time": "2026-11-30T18:31:15.403511Z",
        "end_time": "2026-11-30T18:31:15.403553Z",
        "status": {"status_code": "ERROR", "description": "boom"},
        "attributes": {"x": 1.5, "l": ["a", "b"]},
        "events": [{"name": "e", "timestamp": "2026-11-30T18:31:15.403544Z", "attributes": {"q": 1}}],
        "links": [],
        "resource": {"attributes": {"service.name": "agent"}, "schema_url": ""},
    }
    memory, reasons = imported(tmp_path / "out.txt", json.dumps(span, indent=4) + "\n" + json.dumps(span, indent=4))
    assert reasons == ()
    (first, _) = memory.spans
    assert (first.trace_id, first.kind, first.status_code, first.status_message) == (TRACE, 3, 2, "boom")
    assert first.end_ns - first.start_ns == 42_000
    assert first.events[0].attributes == {"q": 1}


def test_runtape_requests_are_put_together_from_their_deltas(tmp_path: Path) -> None:
    def event(number: int, kind: str, payload: dict[str, Any], parent: int | None = None) -> str:
        fields = {"id": number, "ts": 1760000000.0 + number, "type": kind, "parent": parent}
        return json.dumps({**fields, "payload": payload, "meta": {}})

    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    hello, answer = {"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}
    request = {"provider": "openai", "model": "m", "api": "chat.completions"}
    trace = [
        event(0, "run_start", {"run_id": "r1", "format": "runtape", "name": "sums"}),
        event(1, "llm_request", {**request, "tools": tools, "messages": [hello], "params": {"seed": 1}}),
        event(2, "llm_response", {"text": "4", "raw": {"choices": []}}, parent=1),
        event(3, "llm_request", {**request, "base": 1, "messages_append": [answer], "params": {}}),
    ]
    memory, reasons = imported(tmp_path / "run.jsonl", "\n".join(trace))
    assert reasons == ()
    bodies = [json.loads(str(s.attributes["whyspan.request.body"])) for s in memory.spans[1:]]
    assert bodies == [
        {"model": "m", "messages": [hello], "tools": tools, "seed": 1},
        {"model": "m", "messages": [hello, answer], "tools": tools},
    ]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(otlp(otlp_span()).encode()))))
    memory = Memory()
    assert import_files(memory, ["-"]).spans == 1


def test_a_missing_file_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no file"):
        import_files(Memory(), ["/nowhere/at/all.json"])


def test_command_imports_and_lists_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = Path(__file__).parents[2] / "fixtures" / "dialects" / "openinference" / "parts" / "spans.otlp.json"
    store = ["--store", str(tmp_path / "store")]
    assert main([*store, "import", "otlp", str(capture)]) == 0
    assert main([*store, "calls", "--all", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    call = json.loads(lines[-1])
    assert {"trace_id", "span_id", "api", "request", "reply", "completeness", "usage"} <= set(call)
    assert call["completeness"]["grade"] == "exact"
    assert main([*store, "calls"]) == 0
    assert "gpt-4o" in capsys.readouterr().out


def test_command_reports_rejects_and_keeps_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text('{"neither": "nor"}')
    rejects = tmp_path / "rejects.jsonl"
    code = main(
        ["--store", str(tmp_path / "s"), "import", "otlp", "--rejects", str(rejects), str(tmp_path / "bad.json")]
    )
    assert code == 3
    assert json.loads(rejects.read_text())["reason"].startswith("neither OTLP")
    assert str(rejects) in capsys.readouterr().err


def test_decoding_a_protobuf_capture_gives_the_same_spans_as_its_json_form(tmp_path: Path) -> None:
    memory, _ = imported(tmp_path / "t.json", otlp(otlp_span()))
    assert decode_traces(encode_traces(memory.spans)) == memory.spans
