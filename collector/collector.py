"""The collector: both servers, the log and the roller, from start to graceful stop."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..ingest.store.layout import Layout
from ..ingest.store.wal import WalWriter
from .commit import GroupCommit
from .grpc_server import GrpcServer
from .http_server import HttpApp, HttpServer
from .intake import Intake
from .roller_process import RollerProcess

_GRACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where a running collector listens."""

    grpc: str
    """`http://host:port`, the form that OTLP exporters take."""
    http: str
    """`http://host:port`; the path `/v1/traces` comes after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorConfig:
    """What a collector needs to know."""

    store: Path
    """A store that exists."""
    host: str = "127.0.0.1"
    grpc_port: int = 4317
    """0 takes a free port."""
    http_port: int = 4318


async def serve(config: CollectorConfig, on_ready: Callable[[Endpoints], None]) -> None:
    """Receives until SIGINT or SIGTERM; then finishes what it has begun, and returns.

    Calls `on_ready` once both servers answer. Raises UsageError when a port cannot be had.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    commit = GroupCommit(WalWriter(Layout(config.store).wal))
    intake = Intake(commit)
    grpc_server = GrpcServer(intake, config.host, config.grpc_port)
    http_server = HttpServer(HttpApp(intake), config.host, config.http_port)
    roller = RollerProcess(config.store)
    await roller.start()
    await grpc_server.start()
    http_task = asyncio.create_task(http_server.serve())
    on_ready(_endpoints(config.host, grpc_server.port, http_server.port))
    await stop.wait()
    http_server.stop()
    await asyncio.gather(http_task, grpc_server.stop(_GRACE_S))
    await commit.close()
    await roller.stop()


def _endpoints(host: str, grpc_port: int, http_port: int) -> Endpoints:
    shown = f"[{host}]" if ":" in host else host
    return Endpoints(grpc=f"http://{shown}:{grpc_port}", http=f"http://{shown}:{http_port}")
