"""OTLP/gRPC: the three export services over raw bytes, so that a request is parsed once and stored as it came."""

from collections.abc import Awaitable, Callable

import grpc
import grpc.aio

from ..ingest.errors import UsageError
from .answers import render_receipt
from .intake import Intake, Signal
from .refusals import Refusal

_SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
MAX_MESSAGE_BYTES = 64 << 20
"""The usual 4 MB limit drops whole batches of GenAI spans."""
_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # two collectors on one port must fail, not share the traffic
)


class GrpcServer:
    """A server bound to a port; 0 takes a free one."""

    def __init__(self, intake: Intake, host: str, port: int) -> None:
        self._server = grpc.aio.server(options=_OPTIONS)
        for signal, service in _SERVICES.items():
            method = grpc.unary_unary_rpc_method_handler(_exporter(intake, signal))
            handler = grpc.method_handlers_generic_handler(service, {"Export": method})
            self._server.add_generic_rpc_handlers((handler,))
        try:
            self.port: int = self._server.add_insecure_port(f"{_bracketed(host)}:{port}")
        except RuntimeError as error:
            raise _port_in_use(host, port) from error

    async def start(self) -> None:
        """Starts answering."""
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Stops accepting, and gives requests under way this long to finish."""
        await self._server.stop(grace_s)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _port_in_use(host: str, port: int) -> UsageError:
    return UsageError(
        f"cannot listen on {host}:{port} for OTLP/gRPC",
        hint="another collector may be running; choose a port with --grpc-port, 0 for any free one",
    )


Handler = Callable[[bytes, "grpc.aio.ServicerContext[bytes, bytes]"], Awaitable[bytes]]


def _exporter(intake: Intake, signal: Signal) -> Handler:
    async def export(request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        try:
            receipt = await intake.accept(signal, request, is_json=False)
        except Refusal as refusal:
            await context.abort(refusal.reason.grpc_status, refusal.message)
        return render_receipt(signal, receipt)

    return export
