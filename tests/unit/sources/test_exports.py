"""Files that Langfuse and Phoenix export become the same spans as their APIs give."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_cases import observation, score

from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.sources.exports import ExportSource
from whyspan.ingest.sources.langfuse.exports import export_source as langfuse_files
from whyspan.ingest.sources.langfuse.observations import UPDATED_KEY, decode_observation
from whyspan.ingest.sources.phoenix_exports import export_source as phoenix_files
from whyspan.ingest.sources.times import parse_time
from whyspan.ingest.spans import Span

OBSERVATION = observation(
    0, 1, providedModelName="gpt-4o", tags=["a", "b"], modelParameters={"temperature": 0.5}, statusMessage="fine",
    promptVersion=3, totalCost=0.25, costDetails={"total": 0.25}, metadata={"team": "red"},
)  # fmt: skip
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


def as_blob(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of an export to blob storage: "" for nothing, parameters as text, times without a zone."""
    moments = {k: v.replace("T", " ").replace("Z", "000") for k, v in row.items() if k.endswith(("Time", "At"))}
    return snake({**row, **moments, "modelParameters": json.dumps(row["modelParameters"]), "version": "", "userId": ""})


def as_parquet(row: Mapping[str, Any]) -> bytes:
    """Returns the row as ClickHouse writes it: maps, decimal numbers, times."""
    texts, amounts = pa.map_(pa.string(), pa.string()), pa.map_(pa.string(), pa.decimal128(38, 12))
    moments = {k: datetime.fromisoformat(v) for k, v in row.items() if k.endswith(("_time", "_at"))}
    columns = {k: pa.array([{**row, **moments}[k]]) for k in row if k not in MAPS}
    columns["total_cost"] = pa.array([Decimal(str(row["total_cost"]))], pa.decimal128(38, 12))
    columns["metadata"] = pa.array([list(row["metadata"].items())], texts)
    columns["cost_details"] = pa.array([[(k, Decimal(str(v))) for k, v in row["cost_details"].items()]], amounts)
    columns["usage_details"] = pa.array([list(row["usage_details"].items())], pa.map_(pa.string(), pa.uint64()))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


MAPS = ("total_cost", "metadata", "cost_details", "usage_details")
FORMS: dict[str, Callable[[], bytes]] = {
    "json": lambda: json.dumps([OBSERVATION]).encode(),
    "json lines": lambda: json.dumps(OBSERVATION).encode() + b"\n",
    "csv": lambda: as_csv(OBSERVATION),
    "blob json": lambda: gzip.compress(json.dumps(as_blob(OBSERVATION)).encode()),
    "blob csv": lambda: as_csv(as_blob(OBSERVATION)),
    "blob parquet": lambda: as_parquet(as_blob(OBSERVATION)),
    "table of version 3": lambda: json.dumps(
        {"model" if k == "providedModelName" else "traceTags" if k == "tags" else k: v for k, v in OBSERVATION.items()}
    ).encode(),
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
    given = dict(span.attributes)
    created = parse_time(given.pop("langfuse.server.created_at"))
    expected = dict(decode_observation(OBSERVATION).attributes)
    assert created == parse_time(expected.pop("langfuse.server.created_at"))
    assert given == expected
    assert replace(span, attributes={}) == replace(decode_observation(OBSERVATION), attributes={})


def test_an_exported_version_is_compared_with_that_of_the_api(tmp_path: Path) -> None:
    (tmp_path / "export").write_bytes(as_csv(as_blob(OBSERVATION)))
    (span,) = spans_of(langfuse_files([str(tmp_path / "export")]))
    assert span.attributes[UPDATED_KEY] == OBSERVATION["updatedAt"]


def test_a_folder_of_a_blob_export_is_read_with_its_scores(tmp_path: Path) -> None:
    for name in ("observations_v2", "scores", "traces"):
        (tmp_path / name).mkdir()
    (tmp_path / "observations_v2" / "1.parquet").write_bytes(as_parquet(as_blob(OBSERVATION)))
    of_span = {"observationId": OBSERVATION["id"], "traceId": OBSERVATION["traceId"]}
    rated = snake(score(0, **of_span, comment="bad", sessionId=None, stringValue=None))
    (tmp_path / "scores" / "1.csv").write_bytes(as_csv(rated))
    (tmp_path / "traces" / "1.jsonl").write_text(json.dumps({"id": "t", "timestamp": "2026-11-30 12:00:00.000000"}))
    batches = list(langfuse_files([str(tmp_path)]).batches(None))
    (log,) = (log for batch in batches for log in batch.logs)
    assert log.attributes["gen_ai.evaluation.explanation"] == "bad"
    assert log.attributes["gen_ai.evaluation.score.value"] == 0.0
    assert log.span_id == OBSERVATION["id"]
    assert len([span for batch in batches for span in batch.spans]) == 1
    assert [r.reason for batch in batches for r in batch.rejects] == [
        "neither an observation nor a score; traces alone hold no decision"
    ]


def test_a_large_file_is_read_some_rows_at_a_time(tmp_path: Path) -> None:
    lines = (json.dumps(observation(i % 600, i // 600)) for i in range(2500))
    (tmp_path / "export.jsonl").write_text("\n".join([*lines, "{broken"]))
    batches = list(langfuse_files([str(tmp_path / "export.jsonl")]).batches(None))
    assert [len(batch.spans) for batch in batches] == [1000, 1000, 0]
    assert "line 2501 is not JSON" in batches[-1].rejects[0].reason


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
