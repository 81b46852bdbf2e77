"""OTLP/gRPC: the three export services over raw bytes, so that a request is parsed once and stored as it came."""

from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeAlias

import grpc
import grpc.aio

from ..ingest.errors import ConfigError, UsageError
from .answers import render_receipt, render_refusal
from .config import CollectorConfig, Tls
from .intake import Intake
from .refusals import Refusal
from .signals import Signal

_SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
_DETAILS = "grpc-status-details-bin"
_KEEPALIVE_MS = 10_000
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Handler: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]


class GrpcServer:
    """A server bound to a port; 0 takes a free one."""

    def __init__(self, intake: Intake, config: CollectorConfig) -> None:
        self._server = grpc.aio.server(options=_options(config))
        for signal, service in _SERVICES.items():
            method = grpc.unary_unary_rpc_method_handler(_exporter(intake, signal))
            handler = grpc.method_handlers_generic_handler(service, {"Export": method})
            self._server.add_generic_rpc_handlers((handler,))
        host = f"[{config.host}]" if ":" in config.host else config.host
        address = f"{host}:{config.grpc_port}"
        try:
            if config.tls is None:
                self.port: int = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, _credentials(config.tls))
        except RuntimeError as error:
            raise UsageError(
                f"cannot listen on {address} for OTLP/gRPC",
                hint="another collector may be running; choose a port with --grpc-port, 0 for any free one",
            ) from error

    async def start(self) -> None:
        """Starts answering."""
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Stops accepting, and gives requests under way this long to finish."""
        await self._server.stop(grace_s)


def _options(config: CollectorConfig) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", config.limits.inflated_bytes),
        ("grpc.so_reuseport", 0),  # two collectors on one port must fail, not share the traffic
        # gRPC reads a message before anybody can refuse it: more streams than this have to wait.
        ("grpc.max_concurrent_streams", max(1, config.limits.requests_per_client)),
        ("grpc.http2.min_ping_interval_without_data_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_time_ms", 6 * _KEEPALIVE_MS),  # finds clients that have vanished
    ]


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    try:
        pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
        client_ca = tls.client_ca.read_bytes() if tls.client_ca else None
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read: {error.strerror}") from error
    return grpc.ssl_server_credentials([pair], client_ca, require_client_auth=client_ca is not None)


def _exporter(intake: Intake, signal: Signal) -> Handler:
    async def export(request: bytes, context: Context) -> bytes:
        try:
            client = intake.authenticator.client(_authorization(context), _address(context.peer()))
            with intake.admission.request(client, len(request)):
                receipt = await intake.accept(signal, request, is_json=False)
        except Refusal as refusal:
            intake.meters.refused_requests.labels(refusal.reason.label).inc()
            await _abort(context, refusal)
        return render_receipt(signal, receipt)

    return export


async def _abort(context: Context, refusal: Refusal) -> NoReturn:
    await context.abort(refusal.reason.grpc_status, refusal.message, ((_DETAILS, render_refusal(refusal)),))
    raise AssertionError("abort raises")


def _authorization(context: Context) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization":
            return value if isinstance(value, str) else value.decode("latin-1")
    return ""


def _address(peer: str) -> str:
    """Returns the address without the port: `ipv4:10.0.0.1:5000` → `10.0.0.1`."""
    return peer.partition(":")[2].rpartition(":")[0] or peer
