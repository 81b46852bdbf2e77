"""The collector's defences: who may send, how much, over what, and what happens when there is no room."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
import trustme
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from whyspan.collector.collector import Endpoints, collecting
from whyspan.collector.config import CollectorConfig, Forward, Limits, Tls
from whyspan.collector.redaction import Redactor, build_redactor
from whyspan.ingest.errors import ConfigError, StoreError
from whyspan.ingest.otlp import decode_logs, decode_traces, encode_logs, encode_traces
from whyspan.ingest.spans import LogRecord, Span, SpanId, TraceId
from whyspan.ingest.store import Store

PROTOBUF = {"content-type": "application/x-protobuf"}
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
TRACE = TraceId("a" * 32)


def span(n: int = 1, **over: Any) -> Span:
    fields: dict[str, Any] = {"name": "s", "start_ns": n, "end_ns": n, **over}
    return Span(trace_id=TRACE, span_id=SpanId(f"{n:016x}"), **fields)


BODY = encode_traces([span()])


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))


@asynccontextmanager
async def collector(path: Path, *, redactor: Redactor | None = None, **over: Any) -> AsyncIterator[Endpoints]:
    config = CollectorConfig(store=path / "s", grpc_port=0, http_port=0, **over)
    async with collecting(config, redactor or build_redactor({})) as endpoints:
        yield endpoints


async def post(endpoints: Endpoints, content: bytes = BODY, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=endpoints.http, timeout=20, verify=False) as client:
        return await client.post("/v1/traces", content=content, headers={**PROTOBUF, **headers})


async def get(endpoints: Endpoints, path: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=endpoints.http, timeout=20, verify=False) as client:
        return await client.get(path)


async def export(endpoints: Endpoints, body: bytes = BODY, **metadata: str) -> grpc.aio.AioRpcError | None:
    async with grpc.aio.insecure_channel(endpoints.grpc.removeprefix("http://")) as channel:
        try:
            await unary(channel)(body, metadata=tuple(metadata.items()), timeout=20)
        except grpc.aio.AioRpcError as error:
            return error
    return None


def unary(channel: grpc.aio.Channel) -> Any:
    return channel.unary_unary(EXPORT, None, None)


def retry_delay_s(details: bytes) -> int | None:
    for detail in Status.FromString(details).details:
        info = RetryInfo()
        if detail.Unpack(info):
            return int(info.retry_delay.seconds)
    return None


def status_details(error: grpc.aio.AioRpcError) -> bytes | None:
    metadata: Any = error.trailing_metadata() or ()  # pairs, whatever the stubs say
    details: bytes | None = dict(metadata).get("grpc-status-details-bin")
    return details


def grpc_retry_delay_s(error: grpc.aio.AioRpcError) -> int | None:
    details = status_details(error)
    assert details is not None
    return retry_delay_s(details)


def test_tokens_are_asked_for_over_both_protocols(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path, tokens={"ci": "s3cret"}) as endpoints:
            refused = await post(endpoints)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="whyspan"')
            assert (await post(endpoints, authorization="Bearer s3cret")).status_code == 200
            error = await export(endpoints)
            assert error is not None
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED
            assert await export(endpoints, authorization="Bearer s3cret") is None
            assert (await get(endpoints, "/healthz")).status_code == 200

    run(test)


def test_too_much_from_one_client_is_429_with_a_delay_and_resource_exhausted_with_retry_info(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path, limits=Limits(requests_per_client=0)) as endpoints:
            refused = await post(endpoints)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) == retry_delay_s(refused.content)
            error = await export(endpoints)
            assert error is not None
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert grpc_retry_delay_s(error)

    run(test)


def test_without_room_it_answers_503_and_unavailable_with_a_delay_and_is_not_ready(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path, limits=Limits(backlog_bytes=-1)) as endpoints:
            refused = await post(endpoints, BODY, **{"content-type": "application/json"})
            assert refused.status_code == 503
            assert refused.headers["retry-after"]
            assert refused.json()["details"][0]["retryDelay"].endswith("s")
            error = await export(endpoints)
            assert error is not None
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert grpc_retry_delay_s(error)
            ready = await get(endpoints, "/readyz")
            assert (ready.status_code, "wait to become queryable" in ready.text) == (503, True)
            assert (await get(endpoints, "/healthz")).status_code == 200

    run(test)


def test_too_large_is_final(tmp_path: Path) -> None:
    async def test() -> None:
        limits = Limits(body_bytes=1000, inflated_bytes=1000)
        async with collector(tmp_path, limits=limits) as endpoints:
            refused = await post(endpoints, bytes(1001))
            assert (refused.status_code, "retry-after" in refused.headers) == (413, False)

            async def chunks() -> AsyncIterator[bytes]:
                for _ in range(3):
                    yield bytes(500)

            async with httpx.AsyncClient(base_url=endpoints.http) as client:
                refused = await client.post("/v1/traces", content=chunks(), headers=PROTOBUF)
            assert refused.status_code == 413
            error = await export(endpoints, bytes(1001))
            assert error is not None
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert retry_delay_s(status_details(error) or b"") is None

    run(test)


def test_a_grpc_bomb_is_stopped_by_the_limit_on_the_inflated_size(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path, limits=Limits(inflated_bytes=100_000)) as endpoints:
            options = [("grpc.default_compression_algorithm", 2)]  # gzip
            async with grpc.aio.insecure_channel(endpoints.grpc.removeprefix("http://"), options=options) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await unary(channel)(bytes(10_000_000), timeout=20)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    run(test)


def test_tls_and_client_certificates(tmp_path: Path) -> None:
    authority, strangers = trustme.CA(), trustme.CA()
    server, client = authority.issue_cert("localhost", "127.0.0.1"), authority.issue_cert("client")
    files = Tls(certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem", client_ca=tmp_path / "ca.pem")
    server.cert_chain_pems[0].write_to_path(files.certificate)
    server.private_key_pem.write_to_path(files.key)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")

    def context(certificate: trustme.LeafCert | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        if certificate is not None:
            certificate.configure_cert(context)
        return context

    async def status(endpoints: Endpoints, certificate: trustme.LeafCert | None) -> int | str:
        async with httpx.AsyncClient(base_url=endpoints.http, verify=context(certificate)) as http:
            try:
                return (await http.post("/v1/traces", content=BODY, headers=PROTOBUF)).status_code
            except httpx.TransportError:
                return "closed"

    async def test() -> None:
        async with collector(tmp_path, tls=files) as endpoints:
            assert endpoints.http.startswith("https://")
            assert await status(endpoints, client) == 200
            assert await status(endpoints, None) == "closed"
            assert await status(endpoints, strangers.issue_cert("client")) == "closed"
            credentials = grpc.ssl_channel_credentials(
                authority.cert_pem.bytes(), client.private_key_pem.bytes(), client.cert_chain_pems[0].bytes()
            )
            target = endpoints.grpc.removeprefix("https://")
            async with grpc.aio.secure_channel(target, credentials) as channel:
                assert await unary(channel)(BODY, timeout=20) == b""
            anonymous = grpc.ssl_channel_credentials(authority.cert_pem.bytes())
            async with grpc.aio.secure_channel(target, anonymous) as channel:
                with pytest.raises(grpc.aio.AioRpcError):
                    await unary(channel)(BODY, timeout=5)

    run(test)


def test_unusable_tls_files_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    tls = Tls(certificate=tmp_path / "cert.pem", key=tmp_path / "cert.pem")

    async def test() -> None:
        async with collector(tmp_path, tls=tls):
            raise AssertionError("started")

    with pytest.raises(ConfigError, match="TLS files cannot be used"):
        run(test)


def test_a_store_of_a_newer_version_is_an_error_at_the_start(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s") as store:
        store._manifest._db.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")

    async def test() -> None:
        async with collector(tmp_path):
            raise AssertionError("started")

    with pytest.raises(StoreError, match="store version 99"):
        run(test)


def test_what_is_redacted_never_reaches_the_disk(tmp_path: Path) -> None:
    secret = "jane.doe@example.org"
    body = encode_traces([span(attributes={"k": f"mail {secret} " + "x" * 3000})])

    async def test() -> None:
        async with collector(tmp_path, redactor=build_redactor({"presets": ["email"]})) as endpoints:
            assert (await post(endpoints, body)).status_code == 200
            [segment] = (tmp_path / "s" / "wal").iterdir()
            assert secret.encode() not in segment.read_bytes()

    run(test)
    with Store.open(tmp_path / "s") as store:
        [kept] = store.spans(TRACE)
        assert str(kept.attributes["k"]).startswith("mail [redacted:email] x")


def test_refused_bytes_are_set_aside_within_bounds(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path) as endpoints:
            async with httpx.AsyncClient(base_url=endpoints.http, timeout=20) as client:
                for n in range(120):
                    answer = await client.post("/v1/traces", content=b"\xff%d" % n, headers=PROTOBUF)
                    assert answer.status_code == 400
            assert len(list((tmp_path / "s" / "quarantine").iterdir())) == 100

    run(test)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():
        await asyncio.sleep(0.05)


def test_the_metrics_tell_what_is_acknowledged_and_what_is_queryable(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path) as endpoints:
            await post(endpoints)
            await post(endpoints, b"\xff")

            async def is_queryable() -> bool:
                text = (await get(endpoints, "/metrics")).text
                values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
                assert values['whyspan_accepted_requests_total{signal="traces"}'] == "1.0"
                assert values['whyspan_accepted_items_total{signal="traces"}'] == "1.0"
                assert values['whyspan_refused_requests_total{reason="malformed"}'] == "1.0"
                assert values["whyspan_sync_seconds_count"] == "1.0"
                acknowledged = float(values["whyspan_acknowledged_timestamp_seconds"])
                queryable = float(values["whyspan_queryable_timestamp_seconds"])
                return queryable >= acknowledged and values["whyspan_pending_bytes"] == "0.0"

            await until(is_queryable)
            assert (await get(endpoints, "/readyz")).status_code == 200

    run(test)


class Upstream:
    """An OTLP/HTTP endpoint that can be down, and notes what it gets."""

    def __init__(self) -> None:
        self.status = "503 Service Unavailable"
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.headers: list[bytes] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:"))
            body = await reader.readexactly(length)
            self.headers.append(head)
            if self.status.startswith("200"):
                self.spans += decode_traces(body) if b"/v1/traces" in head else []
                self.logs += decode_logs(body) if b"/v1/logs" in head else []
            writer.write(f"HTTP/1.1 {self.status}\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n".encode())
            await writer.drain()


def test_everything_accepted_is_forwarded_once_the_upstream_is_back(tmp_path: Path) -> None:
    upstream, log = Upstream(), LogRecord(trace_id=TRACE, time_ns=1, body="b")

    async def test() -> None:
        server = await asyncio.start_server(_tolerant(upstream.handle), "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        forward = Forward(url=url, headers={"x-key": "k"})
        async with collector(tmp_path, forward=forward) as endpoints:
            for n in range(1, 6):
                assert (await post(endpoints, encode_traces([span(n)]))).status_code == 200
            async with httpx.AsyncClient() as client:
                await client.post(f"{endpoints.http}/v1/logs", content=encode_logs([log]), headers=PROTOBUF)
        # A new collector goes on where the old one stopped: nothing was delivered yet, everything is on disk.
        assert upstream.spans == []
        upstream.status = "200 OK"
        async with collector(tmp_path, forward=forward):

            async def is_delivered() -> bool:
                return len(upstream.spans) == 5 and upstream.logs == [log]

            await until(is_delivered)

            async def is_cleared() -> bool:
                return not list((tmp_path / "s" / "forward").glob("*.wal"))

            await until(is_cleared)
        server.close()

    run(test)
    assert [s.span_id for s in upstream.spans] == [f"{n:016x}" for n in range(1, 6)]
    assert b"x-key: k" in upstream.headers[-1].lower()
    with Store.open(tmp_path / "s") as store:
        assert len(store.spans(TRACE)) == 5


def _tolerant(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def wrapped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return wrapped


def test_langfuse_clients_may_use_their_own_path_and_credentials(tmp_path: Path) -> None:
    async def test() -> None:
        async with collector(tmp_path, tokens={"pk-lf-1": "sk-lf-1"}) as endpoints:
            credentials = base64.b64encode(b"pk-lf-1:sk-lf-1").decode()
            async with httpx.AsyncClient(base_url=endpoints.http) as client:
                headers = {**PROTOBUF, "authorization": f"Basic {credentials}"}
                answer = await client.post("/api/public/otel/v1/traces", content=BODY, headers=headers)
            assert answer.status_code == 200

    run(test)
