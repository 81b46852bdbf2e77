"""Clients: h2load, written in C, for the cost of acknowledging, and threads that send each request once."""

import http.client
import re
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.ingest.payloads import Payload
from tests.benchmarks.ingest.systems import System

PROTOBUF = {"content-type": "application/x-protobuf"}
EXPORT = "opentelemetry.proto.collector.trace.v1.TraceService/Export"


def h2load(system: System, body: bytes, requests: int, *, clients: int, grpc: bool, scratch: Path) -> tuple[int, float]:
    """Sends one body again and again; returns (requests answered with 2xx, seconds)."""
    file = scratch / "body"
    common = ["h2load", "-n", str(requests), "-c", str(clients), "-m", "1", "-d", str(file)]
    if grpc:
        file.write_bytes(b"\0" + struct.pack(">I", len(body)) + body)
        headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
        command = [*common, *headers, f"http://127.0.0.1:{system.grpc_port}/{EXPORT}"]
    else:
        file.write_bytes(body)
        headers = ["--h1", "-H", "content-type: application/x-protobuf"]
        command = [*common, *headers, f"http://127.0.0.1:{system.http_port}/v1/traces"]
    begin = time.monotonic()
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(r"(\d+) 2xx", output)
    return int(match[1]) if match else 0, time.monotonic() - begin


def send_all(port: int, requests: Sequence[Payload], *, clients: int = 4) -> list[float]:
    """Sends each request once, again when told to come later; returns the latencies in seconds."""
    waiting, latencies, lock = list(reversed(requests)), [], threading.Lock()

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        while True:
            with lock:
                if not waiting:
                    return
                payload = waiting.pop()
            begin = time.monotonic()
            while _post(connection, payload.body) in (429, 503):
                time.sleep(0.2)
            with lock:
                latencies.append(time.monotonic() - begin)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return latencies


def _post(connection: http.client.HTTPConnection, body: bytes) -> int:
    connection.request("POST", "/v1/traces", body, PROTOBUF)
    answer = connection.getresponse()
    answer.read()
    return answer.status
