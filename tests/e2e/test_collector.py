"""The collector as clients meet it: the real SDK's exporters, and raw bytes."""

import dataclasses
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf import json_format
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from whyspan.collector.background import RunningCollector, running_collector
from whyspan.ingest.otlp import decode_traces, encode_logs, encode_traces, traces_from_json
from whyspan.ingest.spans import LogRecord, Span, SpanId, TraceId
from whyspan.ingest.store import Store

EXAMPLES = Path(__file__).parents[1] / "fixtures" / "otlp"
PROTOBUF, JSON = {"content-type": "application/x-protobuf"}, {"content-type": "application/json"}
TRACE_SERVICE = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS_SERVICE = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS_SERVICE = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCollector]:
    with running_collector(tmp_path_factory.mktemp("collector") / "store") as running:
        yield running


@pytest.fixture(scope="module")
def store(collector: RunningCollector) -> Iterator[Store]:
    args = collector.process.args
    assert isinstance(args, list)
    with Store.open(args[args.index("--store") + 1]) as store:
        yield store


@pytest.fixture
def http(collector: RunningCollector) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=collector.http_endpoint, timeout=10) as client:
        yield client


@pytest.fixture
def channel(collector: RunningCollector) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(collector.grpc_endpoint.removeprefix("http://")) as channel:
        yield channel


def fresh(n: int = 1) -> list[Span]:
    trace_id = TraceId(os.urandom(16).hex())
    return [
        Span(trace_id=trace_id, span_id=SpanId(os.urandom(8).hex()), name=f"s{i}", start_ns=10 + i, end_ns=20)
        for i in range(n)
    ]


def stored(store: Store, spans: list[Span]) -> list[Span]:
    store.refresh()
    return store.spans(spans[0].trace_id)


def call(channel: grpc.Channel, method: str, body: bytes, **options: Any) -> bytes:
    answer: bytes = channel.unary_unary(method, None, None)(body, timeout=10, **options)
    return answer


def exporter_for(collector: RunningCollector, protocol: str) -> SpanExporter:
    match protocol:
        case "grpc":
            return GrpcExporter(endpoint=collector.grpc_endpoint, insecure=True)
        case "grpc+gzip":
            return GrpcExporter(endpoint=collector.grpc_endpoint, insecure=True, compression=grpc.Compression.Gzip)
        case "http+gzip":
            from opentelemetry.exporter.otlp.proto.http import Compression

            return HttpExporter(endpoint=f"{collector.http_endpoint}/v1/traces", compression=Compression.Gzip)
        case _:
            return HttpExporter(endpoint=f"{collector.http_endpoint}/v1/traces")


@pytest.mark.parametrize("protocol", ["grpc", "grpc+gzip", "http", "http+gzip"])
def test_the_sdk_exporters_are_understood(collector: RunningCollector, store: Store, protocol: str) -> None:
    provider = TracerProvider(resource=SdkResource.create({"service.name": "agent"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter_for(collector, protocol)))
    with provider.get_tracer("t").start_as_current_span("ask", attributes={"k": (1, 2)}) as span:
        span.add_event("e", {"x": 1.5})
    provider.shutdown()
    store.refresh()
    [kept] = store.spans(TraceId(f"{span.get_span_context().trace_id:032x}"))
    assert (kept.name, kept.attributes, kept.events[0].attributes) == ("ask", {"k": (1, 2)}, {"x": 1.5})
    assert kept.resource.attributes["service.name"] == "agent"


def test_full_acceptance_is_answered_with_an_empty_response(http: httpx.Client, channel: grpc.Channel) -> None:
    body = encode_traces(fresh(3))
    answer = http.post("/v1/traces", content=body, headers=PROTOBUF)
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"", PROTOBUF["content-type"])
    assert call(channel, TRACE_SERVICE, body) == b""


def test_an_empty_request_succeeds(http: httpx.Client, channel: grpc.Channel) -> None:
    assert http.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 200
    assert http.post("/v1/traces", content=b"{}", headers=JSON).json() == {}
    assert call(channel, TRACE_SERVICE, b"") == b""


def test_json_is_answered_in_json_and_stored(http: httpx.Client, store: Store) -> None:
    body = (EXAMPLES / "trace.json").read_bytes()
    answer = http.post("/v1/traces", content=body, headers={"content-type": "application/json; charset=utf-8"})
    assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, "application/json")
    sent = decode_traces(traces_from_json(body))
    assert repr(stored(store, sent)) == repr(sent)


@pytest.mark.parametrize("name", ["logs.json", "events.json"])
def test_log_examples_are_accepted(http: httpx.Client, store: Store, name: str) -> None:
    body = (EXAMPLES / name).read_bytes()
    assert http.post("/v1/logs", content=body, headers=JSON).status_code == 200


def test_logs_are_stored_in_order(http: httpx.Client, channel: grpc.Channel, store: Store) -> None:
    trace_id = TraceId(os.urandom(16).hex())
    first, second = (LogRecord(trace_id=trace_id, time_ns=t, body={"n": t}) for t in (7, 3))
    assert http.post("/v1/logs", content=encode_logs([first]), headers=PROTOBUF).content == b""
    assert call(channel, LOGS_SERVICE, encode_logs([second])) == b""
    store.refresh()
    assert store.logs(trace_id) == [first, second]


def test_metrics_are_taken_and_dropped(http: httpx.Client, channel: grpc.Channel) -> None:
    body = (EXAMPLES / "metrics.json").read_bytes()
    assert http.post("/v1/metrics", content=body, headers=JSON).json() == {}
    assert call(channel, METRICS_SERVICE, b"") == b""


def test_an_invalid_span_does_not_cost_its_neighbours(http: httpx.Client, channel: grpc.Channel, store: Store) -> None:
    for post in ("http", "grpc"):
        good = fresh(2)
        bad = [
            Span(trace_id=TraceId("00" * 16), span_id=good[0].span_id, name="zero", start_ns=1, end_ns=2),
            Span(trace_id=good[0].trace_id, span_id=SpanId("abcd"), name="short", start_ns=1, end_ns=2),
        ]
        body = encode_traces([good[0], *bad, good[1]])
        if post == "http":
            answer = http.post("/v1/traces", content=body, headers=PROTOBUF).content
        else:
            answer = call(channel, TRACE_SERVICE, body)
        partial = ExportTraceServiceResponse.FromString(answer).partial_success
        assert partial.rejected_spans == 2
        assert "2 of 4 spans" in partial.error_message
        assert stored(store, good) == good


def test_partial_success_is_told_in_json_too(http: httpx.Client) -> None:
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "", "spanId": "", "name": "x"}]}]}]}
    answer = http.post("/v1/traces", json=document)
    assert (answer.status_code, answer.json()["partialSuccess"]["rejectedSpans"]) == (200, "1")


def test_garbage_is_refused_for_good(http: httpx.Client, channel: grpc.Channel) -> None:
    answer = http.post("/v1/traces", content=b"\xff\xff\xff", headers=PROTOBUF)
    status = Status.FromString(answer.content)
    assert (answer.status_code, status.code) == (400, grpc.StatusCode.INVALID_ARGUMENT.value[0])
    assert "not an OTLP ExportTraceServiceRequest" in status.message
    answer = http.post("/v1/traces", content=b"{", headers=JSON)
    assert answer.status_code == 400
    assert "not JSON" in json_format.ParseDict(answer.json(), Status()).message
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, TRACE_SERVICE, b"\xff\xff\xff")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/v1/traces", {}, 405),
        ("POST", "/v1/nothing", PROTOBUF, 404),
        ("POST", "/v1/traces", {"content-type": "text/plain"}, 415),
        ("POST", "/v1/traces", {}, 415),
        ("POST", "/v1/traces", {**PROTOBUF, "content-encoding": "br"}, 415),
        ("GET", "/healthz", {}, 200),
    ],
)
def test_what_is_no_export_is_told_so(
    http: httpx.Client, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert http.request(method, path, headers=headers).status_code == status


def test_gzip_of_several_members_is_read_whole(http: httpx.Client, store: Store) -> None:
    body = encode_traces(spans := fresh(2))
    packed = gzip.compress(body[:20]) + gzip.compress(body[20:])
    headers = {**PROTOBUF, "content-encoding": "gzip"}
    assert http.post("/v1/traces", content=packed, headers=headers).status_code == 200
    assert stored(store, spans) == spans


def test_a_gzip_bomb_and_a_cut_stream_are_refused(http: httpx.Client) -> None:
    headers = {**PROTOBUF, "content-encoding": "gzip"}
    bomb = gzip.compress(bytes(80 << 20))
    assert http.post("/v1/traces", content=bomb, headers=headers).status_code == 413
    cut = gzip.compress(b"x" * 1000)[:-5]
    assert http.post("/v1/traces", content=cut, headers=headers).status_code == 400


def test_a_request_beyond_the_usual_4_mb_is_stored(http: httpx.Client, channel: grpc.Channel, store: Store) -> None:
    [span] = fresh()
    big = dataclasses.replace(span, attributes={"x": "y" * 9_000_000})
    assert call(channel, TRACE_SERVICE, encode_traces([big])) == b""
    assert stored(store, [big]) == [big]


def test_another_process_reads_while_the_collector_runs(collector: RunningCollector, http: httpx.Client) -> None:
    spans = fresh(3)
    http.post("/v1/traces", content=encode_traces(spans), headers=PROTOBUF)
    args = collector.process.args
    assert isinstance(args, list)
    query = f"SELECT count(*) AS n FROM spans WHERE trace_id = '{spans[0].trace_id}'"
    command = [sys.executable, "-m", "whyspan", *args[3:5], "sql", query, "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["rows"] == [{"n": 3}]


def test_a_port_in_use_is_one_line_and_a_hint(collector: RunningCollector, tmp_path: Path) -> None:
    for option, endpoint in (("--http-port", collector.http_endpoint), ("--grpc-port", collector.grpc_endpoint)):
        other = "--grpc-port" if option == "--http-port" else "--http-port"
        command = [sys.executable, "-m", "whyspan", "--store", str(tmp_path / "s"), "serve"]
        command += [option, endpoint.rpartition(":")[2], other, "0"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        assert answer.returncode == 2
        assert "error: cannot listen on" in answer.stderr
        assert f"choose a port with {option}" in answer.stderr
        assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_gracefully_and_the_store_is_usable(tmp_path: Path, number: signal.Signals) -> None:
    spans = fresh(2)
    with running_collector(tmp_path / "s") as running:
        httpx.post(f"{running.http_endpoint}/v1/traces", content=encode_traces(spans), headers=PROTOBUF)
        running.process.send_signal(number)
        assert running.process.wait(20) == 0
    assert list((tmp_path / "s" / "wal").iterdir()) == []
    with Store.open(tmp_path / "s") as store:
        assert store.spans(spans[0].trace_id) == spans


def test_it_starts_and_stops_with_less_than_two_seconds_of_work(tmp_path: Path) -> None:
    before = os.times()
    with running_collector(tmp_path / "s") as running:
        port = int(running.grpc_endpoint.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < 2  # CPU time of both processes: the machine may be busy with something else
