"""`whyspan serve`: receive OTLP into the store."""

import asyncio
import gc
import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...ingest.errors import UsageError
from ...ingest.settings import load_section, load_settings
from ..output import SCHEMA_VERSION, Session

if TYPE_CHECKING:
    from ...collector.collector import Endpoints
    from ...collector.config import CollectorConfig

_PEM = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(epilog="Example: whyspan serve, then OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py")
@click.option("--host", metavar="ADDRESS", help="Address to bind; default 127.0.0.1: only this machine.")
@click.option("--grpc-port", type=int, metavar="PORT", help="OTLP/gRPC, default 4317; 0 takes a free port.")
@click.option("--http-port", type=int, metavar="PORT", help="OTLP/HTTP, default 4318; 0 takes a free port.")
@click.option("--tls-cert", type=_PEM, metavar="FILE", help="Certificate (PEM); with --tls-key.")
@click.option("--tls-key", type=_PEM, metavar="FILE", help="Its key.")
@click.option("--client-ca", type=_PEM, metavar="FILE", help="Clients must show a certificate of this authority.")
@click.option("--forward", metavar="URL", help="Send everything accepted to this OTLP/HTTP endpoint as well.")
@click.option("--keep-days", type=click.IntRange(min=1), metavar="N", help="Delete what is older; default: keep all.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="Of the log on stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when ready.")
@click.pass_obj
def command(session: Session, /, log_format: str, as_json: bool, **options: Any) -> None:
    """Receive OTLP over gRPC and HTTP into the store.

    What is acknowledged is on disk. Ctrl-C stops it; other commands can read the store meanwhile.

    WHYSPAN_TOKENS=name=secret,… asks clients for a token; WHYSPAN_FORWARD_HEADERS=key=value,… goes with --forward;
    in whyspan.toml [redact] says what is never stored, [limits] how much a request and a client may send.
    """
    import uvloop

    from ...collector.collector import serve
    from ...collector.redaction import build_redactor

    _start_log(log_format)
    config = _config(session, options)
    redactor = build_redactor(load_section("redact"))

    def announce(endpoints: "Endpoints") -> None:
        if as_json:
            document = {"schema_version": SCHEMA_VERSION, "grpc": endpoints.grpc, "http": endpoints.http}
            click.echo(json.dumps(document))
        else:
            click.echo(_greeting(session, endpoints, config))

    gc.freeze()  # what is imported stays; requests hold no cycles, so that looking for them can be rare
    gc.set_threshold(50_000, 20, 20)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(config, redactor, announce))


def _config(session: Session, options: Mapping[str, Any]) -> "CollectorConfig":
    from ...collector.auth import parse_tokens
    from ...collector.config import CollectorConfig, Forward, Tls, read_limits

    names = ("host", "grpc_port", "http_port")
    settings = load_settings({"store": session.store_argument, **{name: options[name] for name in names}})
    certificate, key, client_ca = (options[name] for name in ("tls_cert", "tls_key", "client_ca"))
    if (certificate is None) != (key is None) or (client_ca and not certificate):
        raise UsageError("--tls-cert and --tls-key belong together, and --client-ca needs them")
    tls = Tls(certificate=certificate, key=key, client_ca=client_ca) if certificate else None
    headers = parse_tokens(os.environ.get("WHYSPAN_FORWARD_HEADERS", ""), "WHYSPAN_FORWARD_HEADERS")
    return CollectorConfig(
        store=Path(settings.store),
        host=settings.host,
        grpc_port=settings.grpc_port,
        http_port=settings.http_port,
        limits=read_limits(load_section("limits")),
        tokens=parse_tokens(os.environ.get("WHYSPAN_TOKENS", ""), "WHYSPAN_TOKENS"),
        tls=tls,
        forward=Forward(url=options["forward"], headers=headers) if options["forward"] else None,
        keep_days=options["keep_days"],
    )


class _JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(line | ({"exception": self.formatException(record.exc_info)} if record.exc_info else {}))


def _start_log(log_format: str) -> None:
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(_JsonLines() if log_format == "json" else plain)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


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
