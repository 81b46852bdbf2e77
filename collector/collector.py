"""The collector: both servers, the log, the roller and the forwarder, from start to graceful stop."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from ..ingest.errors import StoreError
from ..ingest.store.layout import Layout
from ..ingest.store.wal import WalWriter
from .admission import Admission
from .auth import Authenticator
from .commit import GroupCommit
from .config import CollectorConfig
from .grpc_server import GrpcServer
from .http_server import HttpApp, HttpServer
from .intake import Intake
from .meters import Meters
from .redaction import Redactor
from .roller_process import RollerProcess

_GRACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where a running collector listens."""

    grpc: str
    """`http://host:port` (`https` with TLS), the form that OTLP exporters take."""
    http: str
    """The same for HTTP; `/v1/traces` comes after it."""


async def serve(config: CollectorConfig, redactor: Redactor, on_ready: Callable[[Endpoints], None]) -> None:
    """Receives until SIGINT or SIGTERM; then finishes what it has begun, and returns.

    Calls `on_ready` once both servers answer. Raises UsageError when a port cannot be had, ConfigError for TLS files
    that cannot be used, StoreError for a store that cannot.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with collecting(config, redactor) as endpoints:
        on_ready(endpoints)
        await stop.wait()


@contextlib.asynccontextmanager
async def collecting(config: CollectorConfig, redactor: Redactor) -> AsyncIterator[Endpoints]:
    """Runs a collector for the block; when it ends, everything acknowledged is stored and rolled."""
    layout = _make_folders(config)
    meters = Meters()
    async with contextlib.AsyncExitStack() as stack:
        # Things end in the opposite order: servers first, the roller, which makes what came last queryable, at the end.
        roller = await stack.enter_async_context(_running_roller(config, meters))
        commit = await stack.enter_async_context(_open_log(layout, config, meters))
        intake = Intake(
            commit=commit,
            authenticator=Authenticator(config.tokens),
            admission=Admission(config.limits, config.store, lambda: roller.status.pending_bytes),
            redactor=redactor,
            meters=meters,
            quarantine=layout.quarantine,
        )
        await stack.enter_async_context(_forwarding(layout, config, meters))
        endpoints = await stack.enter_async_context(_servers(intake, roller, config))
        await roller.ready()
        yield endpoints


def _make_folders(config: CollectorConfig) -> Layout:
    layout = Layout(config.store)
    try:
        layout.make()
        if config.forward is not None:
            layout.forward.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make a store at {config.store}: {error.strerror}") from error
    return layout


@contextlib.asynccontextmanager
async def _running_roller(config: CollectorConfig, meters: Meters) -> AsyncIterator[RollerProcess]:
    roller = RollerProcess(config.store, config.keep_days)
    await roller.start()
    meters.watch_roller(lambda: roller.status)
    try:
        yield roller
    finally:
        await roller.stop()


@contextlib.asynccontextmanager
async def _open_log(layout: Layout, config: CollectorConfig, meters: Meters) -> AsyncIterator[GroupCommit]:
    writer = WalWriter(layout.wal, also_in=layout.forward if config.forward else None)
    commit = GroupCommit(writer, meters.sync_seconds.observe)
    try:
        yield commit
    finally:
        await commit.close()


@contextlib.asynccontextmanager
async def _forwarding(layout: Layout, config: CollectorConfig, meters: Meters) -> AsyncIterator[None]:
    if config.forward is None:
        yield
        return
    from .forward import Forwarder  # brings an HTTP client, which most collectors do not need

    forwarder = Forwarder(layout.forward, config.forward, lambda outcome: meters.forwarded.labels(outcome).inc())
    meters.watch_forward(forwarder.pending_bytes)
    task = asyncio.create_task(forwarder.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def _servers(intake: Intake, roller: RollerProcess, config: CollectorConfig) -> AsyncIterator[Endpoints]:
    def readiness() -> str:
        problem = intake.admission.problem()
        return problem.message if problem else "" if roller.is_alive else "the roller is being restarted"

    http_server = HttpServer(HttpApp(intake, readiness), config)
    grpc_server = GrpcServer(intake, config)
    await grpc_server.start()
    http_task = asyncio.create_task(http_server.serve())
    try:
        yield _endpoints(config, grpc_server.port, http_server.port)
    finally:
        http_server.stop()
        await asyncio.gather(http_task, grpc_server.stop(_GRACE_S))


def _endpoints(config: CollectorConfig, grpc_port: int, http_port: int) -> Endpoints:
    host = f"[{config.host}]" if ":" in config.host else config.host
    scheme = "https" if config.tls else "http"
    return Endpoints(grpc=f"{scheme}://{host}:{grpc_port}", http=f"{scheme}://{host}:{http_port}")
