"""A collector in the background, for the demo and for tests: the real command, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..ingest.errors import StoreError

_STOP_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCollector:
    """A collector that answers."""

    grpc_endpoint: str
    """`http://host:port`."""
    http_endpoint: str
    """`http://host:port`, without `/v1/traces`."""
    process: subprocess.Popen[str]


@contextmanager
def running_collector(
    store: str | Path, *, grpc_port: int = 0, http_port: int = 0, host: str = "127.0.0.1"
) -> Iterator[RunningCollector]:
    """Runs `whyspan serve` on a store (made if need be) for the block, ports 0 taking free ones.

    When the block ends, the collector has stored and rolled everything it acknowledged. Raises StoreError when it
    does not start.
    """
    command = [sys.executable, "-m", __name__.split(".")[0], "--store", str(store), "serve", "--json", "--host", host]
    command += ["--grpc-port", str(grpc_port), "--http-port", str(http_port)]
    # A session of its own: Ctrl-C on the terminal is for the program, which ends the collector in its own order.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield _ready(process)
    finally:
        process.terminate()
        process.wait(_STOP_S)
        if process.stdout is not None:
            process.stdout.close()


def _ready(process: subprocess.Popen[str]) -> RunningCollector:
    line = process.stdout.readline() if process.stdout is not None else ""
    if not line:
        raise StoreError(f"the collector did not start (exit code {process.wait(_STOP_S)})")
    document = json.loads(line)
    return RunningCollector(grpc_endpoint=document["grpc"], http_endpoint=document["http"], process=process)
