"""Captures of real instrumentations, as the dialect tests use them."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from whyspan.ingest.calls import ModelCall
from whyspan.ingest.otlp import decode_logs, decode_traces, logs_from_json, traces_from_json
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import LogRecord, Span

FOLDER = Path(__file__).parent.parent / "fixtures" / "dialects"
CAPTURES = sorted(path.parent for path in FOLDER.glob("*/*/spans.*"))
_TRANSPORT = {"stream", "stream_options"}


@cache
def load(capture: Path) -> tuple[list[Span], list[LogRecord]]:
    """Returns the spans and log records of a capture."""
    encoded = capture / "spans.pb"
    if encoded.exists():
        return decode_traces(encoded.read_bytes()), []
    spans = decode_traces(traces_from_json((capture / "spans.otlp.json").read_bytes()))
    logs = capture / "logs.otlp.json"
    return spans, decode_logs(logs_from_json(logs.read_bytes())) if logs.exists() else []


@cache
def rebuilt(capture: Path) -> list[ModelCall]:
    """Returns the model calls of a capture."""
    return rebuild_calls(*load(capture))


@cache
def sent_bodies(capture: Path) -> list[dict[str, Any]]:
    """Returns the request bodies as the model server received them."""
    return [json.loads(line)["body"] for line in (capture / "requests.jsonl").read_text("utf-8").splitlines()]


def texts(value: Any) -> Iterator[str]:
    """Yields every text in a body, with JSON strings opened: argument strings may be serialised anew."""
    if isinstance(value, str) and value:
        try:
            parsed = json.loads(value)
        except ValueError:
            yield value
        else:
            yield from texts(parsed) if isinstance(parsed, dict | list) else iter([value])
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "type":
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def without_transport(body: Any) -> dict[str, Any]:
    """Returns a body without what is not part of the question: streaming, which most instrumentations do not record."""
    return {key: value for key, value in body.items() if key not in _TRANSPORT}
