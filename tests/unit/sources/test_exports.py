"""Files that Langfuse and Phoenix export become the same spans as their APIs give."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_cases import observation

from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.sources.exports import ExportSource
from whyspan.ingest.sources.langfuse.exports import export_source as langfuse_files
from whyspan.ingest.sources.langfuse.observations import decode_observation
from whyspan.ingest.sources.phoenix_exports import export_source as phoenix_files
from whyspan.ingest.spans import Span

OBSERVATION = observation(
    0, 1, providedModelName="gpt-4o", tags=["a", "b"], modelParameters={"temperature": 0.5}, statusMessage="fine"
)
SPAN = {
    "name": "ChatCompletion",
    "span_kind": "LLM",
    "parent_id": None,
    "start_time": "2026-11-30T12:00:00.123456+00:00",
    "end_time": "2026-11-30T12:00:01+00:00",
    "status_code": "OK",
    "status_message": "",
    "context.trace_id": "a" * 32,
    "context.span_id": "b" * 16,
    "attributes.llm.model_name": "gpt-4o",
    "attributes.llm.input_messages": [{"message": {"role": "user", "content": "hi"}}],
    "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "hello"}],
    "attributes.llm.token_count.prompt": 3,
}


def spans_of(source: ExportSource) -> Iterator[Span]:
    for batch in source.batches(None):
        assert batch.rejects == ()
        yield from batch.spans


def as_texts(row: Mapping[str, Any]) -> dict[str, str]:
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items() if v is not None}


def snake(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): value for key, value in row.items()}


def as_csv(row: Mapping[str, Any]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(row))
    writer.writeheader()
    writer.writerow(as_texts(row))
    return text.getvalue().encode()


FORMS: dict[str, Callable[[], bytes]] = {
    "json": lambda: json.dumps([OBSERVATION]).encode(),
    "json lines": lambda: json.dumps(OBSERVATION).encode() + b"\n",
    "gzip": lambda: gzip.compress(json.dumps(snake(OBSERVATION)).encode()),
    "csv": lambda: as_csv(OBSERVATION),
    "blob csv": lambda: as_csv(snake(OBSERVATION)),
    "trace": lambda: (
        json.dumps({"trace": {"id": "x" * 3}, "observations": [OBSERVATION]})
        .replace('"xxx"', f'"{OBSERVATION["traceId"]}"')
        .encode()
    ),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_a_langfuse_export_gives_what_the_api_gives(form: str, tmp_path: Path) -> None:
    (tmp_path / "export.json").write_bytes(FORMS[form]())
    (span,) = spans_of(langfuse_files([str(tmp_path / "export.json")]))
    expected = decode_observation(OBSERVATION)
    told = {k: v for k, v in span.attributes.items() if not k.startswith(("langfuse.server.", "langfuse.trace.public"))}
    known = {k: v for k, v in expected.attributes.items() if k in told}
    assert told == known
    assert (span.trace_id, span.span_id, span.start_ns) == (expected.trace_id, expected.span_id, expected.start_ns)


def test_tool_definitions_that_only_exports_have_are_used(tmp_path: Path) -> None:
    metadata = {"attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}}
    messages = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    definition = json.dumps({"description": "Gets it.", "parameters": {"type": "object"}})
    row = observation(0, 1, metadata=metadata, input=json.dumps(messages), toolDefinitions={"get": definition})
    (tmp_path / "export.json").write_text(json.dumps([row]))
    (call,) = rebuild_calls(list(spans_of(langfuse_files([str(tmp_path / "export.json")]))), ())
    function = {"name": "get", "description": "Gets it.", "parameters": {"type": "object"}}
    assert call.request["tools"] == [{"type": "function", "function": function}]


def phoenix_forms() -> dict[str, bytes]:
    moments = {key: datetime.fromisoformat(str(SPAN[key])).astimezone(UTC) for key in ("start_time", "end_time")}
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{**SPAN, **moments}]), buffer)
    return {
        "records": json.dumps([SPAN]).encode(),
        "lines": json.dumps(SPAN).encode(),
        "columns": json.dumps({key: {"0": value} for key, value in SPAN.items()}).encode(),
        "parquet": buffer.getvalue(),
    }


@pytest.mark.parametrize("form", list(phoenix_forms()))
def test_a_phoenix_export_becomes_the_call_that_was_made(form: str, tmp_path: Path) -> None:
    (tmp_path / "spans").write_bytes(phoenix_forms()[form])
    spans = list(spans_of(phoenix_files([str(tmp_path / "spans")])))
    (call,) = rebuild_calls(spans, ())
    assert call.request["messages"] == [{"role": "user", "content": "hi"}]
    assert call.replies[0].text == "hello"
    assert call.usage.input_tokens == 3
    assert spans[0].start_ns % 10**9 == 123456000


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"just words", b'[{"id": 1'])
def test_a_file_of_another_kind_is_a_reject(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    (batch,) = langfuse_files([str(tmp_path / "file")]).batches(None)
    assert batch.spans == ()
    assert len(batch.rejects) == 1
