"""The README's "Pointing your exporter at whyspan": the real exporters of Python and Node, a collector between."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import whyspan
from whyspan.collector.background import running_collector

pytestmark = pytest.mark.skipif("WHYSPAN_INTEGRATION" not in os.environ, reason="run tests/integration/run.py")

NODE_EXAMPLE = Path(__file__).parents[2] / "deploy" / "exporters" / "node.cjs"

PYTHON_EXAMPLE = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("example").start_as_current_span("chat gpt-5") as span:
    span.set_attribute("gen_ai.request.model", "gpt-5")
provider.shutdown()
"""


def environment(name: str) -> Path:
    return Path(os.environ["WHYSPAN_INTEGRATION"]) / name


def send_from_python(endpoint: str, **environ: str) -> None:
    send([sys.executable, "-c", PYTHON_EXAMPLE], endpoint, {"OTEL_SERVICE_NAME": "python-agent", **environ})


def send_from_node(endpoint: str, **environ: str) -> None:
    shutil.copy(NODE_EXAMPLE, environment("node"))  # it resolves packages from where it lies
    send(["node", str(environment("node") / NODE_EXAMPLE.name)], endpoint, environ)


def send(command: list[str], endpoint: str, environ: Mapping[str, str]) -> None:
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **environ}
    subprocess.run(command, env=environ, check=True, timeout=60)


def received(store: Path) -> list[tuple[str, str]]:
    with whyspan.open_store(store) as connection:
        return connection.sql("SELECT service, request_model FROM spans ORDER BY service").fetchall()


@contextmanager
def running_rotel(exporter_endpoint: str) -> Iterator[str]:
    """A collector of somebody else's that hands everything on; gives its endpoint."""
    with socket.socket() as grpc, socket.socket() as http:
        grpc.bind(("127.0.0.1", 0))
        http.bind(("127.0.0.1", 0))
        grpc_address, http_address = (f"127.0.0.1:{free.getsockname()[1]}" for free in (grpc, http))
    (agent,) = environment("rotel").glob("lib/*/site-packages/rotel/rotel-agent")
    command = [str(agent), "start", "--otlp-grpc-endpoint", grpc_address, "--otlp-http-endpoint", http_address]
    settings = {
        "ROTEL_EXPORTER": "otlp",
        "ROTEL_OTLP_EXPORTER_ENDPOINT": exporter_endpoint,
        "ROTEL_OTLP_EXPORTER_PROTOCOL": "http",
    }
    process = subprocess.Popen(command, env={**os.environ, **settings})
    try:
        wait_for(http_address)
        yield f"http://{http_address}"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(address: str) -> None:
    host, port = address.split(":")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nothing listens on {address}")


def test_the_python_and_the_node_exporter_reach_the_store(tmp_path: Path) -> None:
    with running_collector(tmp_path) as collector:
        send_from_python(collector.http_endpoint)
        send_from_node(collector.http_endpoint)
    assert received(tmp_path) == [("node-agent", "gpt-5"), ("python-agent", "gpt-5")]


def test_a_token_goes_along_as_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYSPAN_TOKENS", "fleet=s3cret")
    with running_collector(tmp_path) as collector:
        send_from_python(collector.http_endpoint, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20s3cret")
        with pytest.raises(subprocess.CalledProcessError):  # Node's exporter ends its process when it is refused
            send_from_node(collector.http_endpoint)
    assert received(tmp_path) == [("python-agent", "gpt-5")]


def test_a_collector_between_hands_on_what_the_exporters_send(tmp_path: Path) -> None:
    with running_collector(tmp_path) as collector, running_rotel(collector.http_endpoint) as rotel:
        send_from_python(rotel)
        send_from_node(rotel)
    assert received(tmp_path) == [("node-agent", "gpt-5"), ("python-agent", "gpt-5")]
