"""200 damaged and twisted requests: each gets an answer that fits it, and none of them costs a good one anything."""

import json
import random
from pathlib import Path

import httpx
import pytest

from whyspan.collector.background import running_collector
from whyspan.ingest.errors import FormatError
from whyspan.ingest.otlp import decode_traces, encode_traces, traces_from_json
from whyspan.ingest.otlp.validation import keep_valid_spans
from whyspan.ingest.spans import Span, SpanId, TraceId
from whyspan.ingest.store import Store

EXAMPLE = (Path(__file__).parents[1] / "fixtures" / "otlp" / "trace.json").read_bytes()
PROTOBUF, JSON = "application/x-protobuf", "application/json"


def twisted(rnd: random.Random, data: bytes) -> bytes:
    """Returns the bytes with a few of them changed, removed, repeated or made up."""
    for _ in range(rnd.randint(1, 4)):
        at = rnd.randrange(len(data) or 1)
        match rnd.randrange(4):
            case 0:
                data = data[:at] + bytes([rnd.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + rnd.randint(1, 20) :]
            case 2:
                data = data[:at] + data[at : at + rnd.randint(1, 40)] + data[at:]
            case _:
                data = data[:at] + rnd.randbytes(rnd.randint(1, 8)) + data[at:]
    return data


def expected(media_type: str, body: bytes) -> tuple[int, int]:
    """Returns (status, rejected spans) as the pure functions have it."""
    try:
        return 200, keep_valid_spans(traces_from_json(body) if media_type == JSON else body).rejected
    except FormatError:
        return 400, 0


def good(n: int) -> Span:
    return Span(trace_id=TraceId("f" * 32), span_id=SpanId(f"{n:016x}"), name="good", start_ns=n, end_ns=n + 1)


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_requests_get_the_right_answer_and_good_ones_are_kept(tmp_path: Path, seed: int) -> None:
    rnd = random.Random(seed)
    sources = {JSON: EXAMPLE, PROTOBUF: traces_from_json(EXAMPLE)}
    with running_collector(tmp_path / "s") as collector, httpx.Client(base_url=collector.http_endpoint) as client:

        def post(media_type: str, body: bytes) -> httpx.Response:
            return client.post("/v1/traces", content=body, headers={"content-type": media_type})

        for n in range(1, 101):
            media_type = rnd.choice([JSON, PROTOBUF])
            body = twisted(rnd, sources[media_type])
            answer = post(media_type, body)
            status, rejected = expected(media_type, body)
            assert answer.status_code == status, body
            assert answer.headers["content-type"] == media_type
            if media_type == JSON and status == 200:
                partial = json.loads(answer.content).get("partialSuccess", {})
                assert int(partial.get("rejectedSpans", 0)) == rejected, body
            assert post(PROTOBUF, encode_traces([good(n)])).content == b""
    with Store.open(tmp_path / "s") as store:
        assert store.spans(TraceId("f" * 32)) == [good(n) for n in range(1, 101)]
        assert store.verify() == []


def test_the_examples_of_the_otlp_repository_are_stored_as_they_are(tmp_path: Path) -> None:
    with running_collector(tmp_path / "s") as collector:
        for name in ("trace", "logs", "events", "metrics"):
            body = (Path(__file__).parents[1] / "fixtures" / "otlp" / f"{name}.json").read_bytes()
            path = {"trace": "traces", "events": "logs"}.get(name, name)
            answer = httpx.post(f"{collector.http_endpoint}/v1/{path}", content=body, headers={"content-type": JSON})
            assert (answer.status_code, answer.json()) == (200, {})
    sent = decode_traces(traces_from_json(EXAMPLE))
    with Store.open(tmp_path / "s") as store, store.connect() as db:
        assert repr(store.spans(sent[0].trace_id)) == repr(sent)
        assert db.execute("SELECT count(*) FROM log_records").fetchall() == [(2,)]
