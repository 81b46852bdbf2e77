"""`whyspan.record()` against a real HTTP server, through real client libraries."""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import aiohttp
import httpx
import openai
import pytest
import requests
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import whyspan
from whyspan.ingest.calls import Grade
from whyspan.ingest.conventions import RECORD_REQUEST, RECORD_RESPONSE, RECORD_URL
from whyspan.ingest.otlp import decode_traces
from whyspan.ingest.rebuild import rebuild_calls

ANSWER = {
    "id": "r-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Grüezi"}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
CHUNKS = (
    {"id": "r-2", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
     "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Grü"}}]},
    {"id": "r-2", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
     "choices": [{"index": 0, "delta": {"content": "ezi"}, "finish_reason": "stop"}]},
)  # fmt: skip
MESSAGES: Any = [{"role": "user", "content": "Hallo"}]


class Model(BaseHTTPRequestHandler):
    """Answers chat completions: whole, streamed, compressed, or with an error."""

    protocol_version = "HTTP/1.1"
    bodies: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.bodies.append(body)
        if body["model"] == "broken":
            self._send(500, b'{"error": {"message": "no"}}', {})
        elif body.get("stream"):
            data = "".join(f"data: {json.dumps(c)}\n\n" for c in CHUNKS) + "data: [DONE]\n\n"
            self._send(200, data.encode(), {"content-type": "text/event-stream"})
        else:
            self._send(200, gzip.compress(json.dumps(ANSWER).encode()), {"content-encoding": "gzip"})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{model.server_port}"
    model.shutdown()
    model.server_close()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = spans.get_finished_spans()
    return span


def attribute(span: ReadableSpan, key: str) -> Any:
    return (span.attributes or {})[key]


def test_openai_client_request_is_recorded_as_sent(server: str, spans: InMemorySpanExporter) -> None:
    with whyspan.record(hosts=[server]), openai.OpenAI(base_url=f"http://{server}/v1", api_key="secret") as client:
        client.chat.completions.create(model="m", messages=MESSAGES, seed=7, extra_body={"top_k": 4})
    span = only(spans)
    assert json.loads(attribute(span, RECORD_REQUEST)) == Model.bodies[-1]
    assert json.loads(attribute(span, RECORD_REQUEST))["top_k"] == 4
    assert json.loads(attribute(span, RECORD_RESPONSE)) == ANSWER
    assert attribute(span, RECORD_URL) == f"http://{server}/v1/chat/completions"
    assert "secret" not in span.to_json()


def test_a_streamed_answer_is_put_together(server: str, spans: InMemorySpanExporter) -> None:
    with whyspan.record(hosts=[server]), openai.OpenAI(base_url=f"http://{server}/v1", api_key="k") as client:
        pieces = [
            c.choices[0].delta.content
            for c in client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        ]
    assert "".join(p or "" for p in pieces) == "Grüezi"
    answer = json.loads(attribute(only(spans), RECORD_RESPONSE))
    assert answer["choices"][0]["message"]["content"] == "Grüezi"
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_a_stream_that_is_left_still_ends_its_span(server: str, spans: InMemorySpanExporter) -> None:
    with whyspan.record(hosts=[server]), openai.OpenAI(base_url=f"http://{server}/v1", api_key="k") as client:
        stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        next(iter(stream))
        stream.close()
    assert json.loads(attribute(only(spans), RECORD_REQUEST)) == Model.bodies[-1]


def test_async_clients_are_recorded(server: str, spans: InMemorySpanExporter) -> None:
    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"http://{server}/v1", api_key="k") as client:
            await client.chat.completions.create(model="m", messages=MESSAGES)
            stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            return [c.choices[0].delta.content or "" async for c in stream]

    with whyspan.record(hosts=[server]):
        assert "".join(asyncio.run(ask())) == "Grüezi"
    texts = [
        json.loads(attribute(s, RECORD_RESPONSE))["choices"][0]["message"]["content"]
        for s in spans.get_finished_spans()
    ]
    assert texts == ["Grüezi", "Grüezi"]


def test_requests_is_recorded_whole_and_streamed(server: str, spans: InMemorySpanExporter) -> None:
    url = f"http://{server}/v1/chat/completions"
    with whyspan.record(hosts=[server]):
        assert requests.post(url, json={"model": "m", "messages": MESSAGES}, timeout=5).json() == ANSWER
        with requests.post(url, json={"model": "m", "stream": True}, stream=True, timeout=5) as response:
            assert len(list(response.iter_lines())) > 2
    whole, streamed = spans.get_finished_spans()
    assert json.loads(attribute(whole, RECORD_RESPONSE)) == ANSWER
    assert json.loads(attribute(streamed, RECORD_RESPONSE))["choices"][0]["message"]["content"] == "Grüezi"


def test_aiohttp_is_recorded_whole_and_streamed(server: str, spans: InMemorySpanExporter) -> None:
    async def ask() -> list[bytes]:
        async with aiohttp.ClientSession(f"http://{server}") as session:
            async with session.post("/v1/chat/completions", json={"model": "m", "messages": MESSAGES}) as whole:
                assert await whole.json() == ANSWER
            async with session.post("/v1/chat/completions", json={"model": "m", "stream": True}) as streamed:
                return [line async for line in streamed.content]

    with whyspan.record(hosts=[server]):
        assert len(asyncio.run(ask())) > 2
    whole, streamed = spans.get_finished_spans()
    assert attribute(whole, RECORD_URL) == f"http://{server}/v1/chat/completions"
    assert json.loads(attribute(whole, RECORD_REQUEST))["messages"] == MESSAGES
    assert json.loads(attribute(whole, RECORD_RESPONSE)) == ANSWER
    assert json.loads(attribute(streamed, RECORD_RESPONSE))["choices"][0]["message"]["content"] == "Grüezi"


def test_failures_reach_the_caller_and_the_span(server: str, spans: InMemorySpanExporter) -> None:
    with whyspan.record(hosts=[server, "127.0.0.1:9"]):
        assert httpx.post(f"http://{server}/v1/chat/completions", json={"model": "broken"}).status_code == 500
        with pytest.raises(httpx.ConnectError):
            httpx.post("http://127.0.0.1:9/v1/chat/completions", json={"model": "m"})
    refused, unreachable = spans.get_finished_spans()
    assert attribute(refused, "http.response.status_code") == 500
    assert attribute(unreachable, "error.type") == "ConnectError"


@pytest.mark.parametrize("broken", ["assemble", "public_url", "get_tracer"])
def test_a_fault_of_the_recorder_does_not_reach_the_agent(
    server: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(f"whyspan.ingest.record.exchange.{broken}", fail)
    with whyspan.record(hosts=[server]):
        response = httpx.post(f"http://{server}/v1/chat/completions", json={"model": "m", "messages": MESSAGES})
    assert response.json() == ANSWER


def test_other_requests_are_left_alone(server: str, spans: InMemorySpanExporter) -> None:
    with whyspan.record():
        httpx.post(f"http://{server}/v1/chat/completions", json={"model": "m"})
    assert spans.get_finished_spans() == ()


def test_content_can_be_left_out_and_redacted(
    server: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://{server}/v1/chat/completions"
    monkeypatch.setenv("WHYSPAN_RECORD_CONTENT", "false")
    with whyspan.record(hosts=[server]):
        httpx.post(url, json={"model": "m", "messages": MESSAGES})
    with whyspan.record(hosts=[server], content=True, redact=lambda body: body | {"messages": "gone"}):
        httpx.post(url, json={"model": "m", "messages": MESSAGES})
    with whyspan.record(hosts=[server], content=True, redact=lambda body: body["no such key"]):
        httpx.post(url, json={"model": "m", "messages": MESSAGES})
    bare, redacted, failed = spans.get_finished_spans()
    assert RECORD_REQUEST not in (bare.attributes or {})
    assert json.loads(attribute(redacted, RECORD_REQUEST))["messages"] == "gone"
    assert not {RECORD_REQUEST, RECORD_RESPONSE} & set(failed.attributes or {})


def test_recording_twice_records_once_and_stop_takes_it_off(server: str, spans: InMemorySpanExporter) -> None:
    before = httpx.Client.send
    first, second = whyspan.record(hosts=[server]), whyspan.record(hosts=[server])
    httpx.post(f"http://{server}/v1/chat/completions", json={"model": "m"})
    first.stop()
    second.stop()
    assert len(spans.get_finished_spans()) == 1
    assert httpx.Client.send is before


def test_under_another_instrumentation_the_call_is_one_and_exact(
    server: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=trace.get_tracer_provider())
    try:
        with whyspan.record(hosts=[server]), openai.OpenAI(base_url=f"http://{server}/v1", api_key="k") as client:
            client.chat.completions.create(model="m", messages=MESSAGES, extra_body={"top_k": 4})
    finally:
        instrumentor.uninstrument()
    finished = spans.get_finished_spans()
    assert len(finished) == 2
    (call,) = rebuild_calls(decode_traces(encode_spans(finished).SerializeToString()), [])
    assert call.completeness.grade is Grade.EXACT
    assert call.completeness.missing == ()
    assert call.request == Model.bodies[-1]
    assert call.base_url == f"http://{server}/v1"
    assert call.replies[0].text == "Grüezi"


def test_home_made_agents_get_standard_spans(spans: InMemorySpanExporter) -> None:
    @whyspan.tool
    def add(a: int, b: int = 2) -> dict[str, int]:
        """Adds."""
        return {"sum": a + b}

    @whyspan.tool(name="fetch")
    async def fetch_page(url: str) -> str:
        raise OSError(url)

    with whyspan.run("sums", session="s-1"):
        assert add(1, b=3) == {"sum": 4}
        with pytest.raises(OSError, match="x"):
            asyncio.run(fetch_page("x"))
    added, fetched, run = spans.get_finished_spans()
    assert json.loads(attribute(added, "gen_ai.tool.call.arguments")) == {"a": 1, "b": 3}
    assert json.loads(attribute(added, "gen_ai.tool.call.result")) == {"sum": 4}
    assert attribute(added, "gen_ai.tool.description") == "Adds."
    assert (fetched.name, fetched.status.is_ok) == ("execute_tool fetch", False)
    assert attribute(run, "gen_ai.conversation.id") == "s-1"
