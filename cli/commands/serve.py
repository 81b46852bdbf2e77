"""`whyspan serve`: receive OTLP into the store."""

import asyncio
import json
from typing import TYPE_CHECKING

import click

from ...ingest.settings import load_settings
from ..output import SCHEMA_VERSION, Session

if TYPE_CHECKING:
    from ...collector.collector import CollectorConfig, Endpoints


@click.command(epilog="Example: whyspan serve, then OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py")
@click.option("--host", metavar="ADDRESS", help="Address to bind; default 127.0.0.1: only this machine.")
@click.option("--grpc-port", type=int, metavar="PORT", help="OTLP/gRPC, default 4317; 0 takes a free port.")
@click.option("--http-port", type=int, metavar="PORT", help="OTLP/HTTP, default 4318; 0 takes a free port.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when ready.")
@click.pass_obj
def command(session: Session, host: str | None, grpc_port: int | None, http_port: int | None, as_json: bool) -> None:
    """Receive OTLP over gRPC and HTTP into the store.

    What is acknowledged is on disk. Ctrl-C stops it; other commands can read the store meanwhile.
    """
    import uvloop

    from ...collector.collector import CollectorConfig, serve

    arguments = {"host": host, "grpc_port": grpc_port, "http_port": http_port, "store": session.store_argument}
    settings = load_settings(arguments)
    with session.create_store() as store:
        config = CollectorConfig(
            store=store.path, host=settings.host, grpc_port=settings.grpc_port, http_port=settings.http_port
        )

    def announce(endpoints: "Endpoints") -> None:
        if as_json:
            document = {"schema_version": SCHEMA_VERSION, "grpc": endpoints.grpc, "http": endpoints.http}
            click.echo(json.dumps(document))
        else:
            click.echo(_greeting(session, endpoints, config))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(config, announce))


def _greeting(session: Session, endpoints: "Endpoints", config: "CollectorConfig") -> str:
    return f"""\
receiving into {config.store}

  OTLP/HTTP  {endpoints.http}/v1/traces
  OTLP/gRPC  {endpoints.grpc}

point an exporter here, for example:

  export OTEL_EXPORTER_OTLP_ENDPOINT={endpoints.http}
  export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf

then: {session.command("runs")}
Ctrl-C stops; what was acknowledged is kept."""
