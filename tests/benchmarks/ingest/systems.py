"""The systems that are compared, each as processes on loopback ports, with their CPU time and memory from /proc."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A running system."""

    name: str
    process: subprocess.Popen[bytes]
    http_port: int
    grpc_port: int
    folder: Path

    def processes(self) -> list[int]:
        """Returns the process and its descendants."""
        parents = {pid: _stat(pid)[1] for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _stat(pid)}
        tree = [self.process.pid]
        for pid in tree:
            tree += [child for child, parent in parents.items() if int(parent) == pid]
        return tree

    def cpu_s(self) -> float:
        """Returns user and system time of all its processes."""
        stats = [_stat(pid) for pid in self.processes()]
        return sum((int(stat[11]) + int(stat[12])) * _TICK_S for stat in stats if stat)

    def cpu_s_of_main(self) -> float:
        """Returns user and system time of the process that receives."""
        stat = _stat(self.process.pid)
        return (int(stat[11]) + int(stat[12])) * _TICK_S

    def memory_mb(self) -> list[float]:
        """Returns resident memory, main process first."""
        stats = [_stat(pid) for pid in self.processes()]
        return [int(stat[21]) * _PAGE / 1e6 for stat in stats if stat]

    def stored_spans(self) -> int:
        """Returns how many spans can be queried."""
        database, query = {
            "whyspan": ("s/manifest.sqlite", "SELECT coalesce(sum(rows), 0) FROM files WHERE kind = 'spans'"),
            "phoenix": ("phoenix.db", "SELECT count(*) FROM spans"),
        }[self.name]
        try:
            with closing(sqlite3.connect(f"file:{self.folder / database}?mode=ro", uri=True, timeout=10)) as db:
                return int(db.execute(query).fetchone()[0])
        except sqlite3.OperationalError:  # not made yet, or busy
            return 0


def _stat(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat after the name (state first); empty when the process has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(name: str, folder: Path, *, binary: Path | None = None) -> Iterator[System]:
    """Runs `whyspan`, `rotel` (binary: rotel-agent) or `phoenix` (binary: phoenix) in a folder for the block."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    http, grpc, environ = _free_port(), _free_port(), dict(os.environ)
    match name:
        case "whyspan":
            command = [sys.executable, "-m", "whyspan", "--store", str(folder / "s"), "serve"]
            command += ["--http-port", str(http), "--grpc-port", str(grpc)]
        case "rotel":
            command = [str(binary), "start", "--exporter", "blackhole", "--pid-file", str(folder / "pid")]
            command += ["--otlp-grpc-endpoint", f"127.0.0.1:{grpc}", "--otlp-http-endpoint", f"127.0.0.1:{http}"]
            command += ["--otlp-grpc-max-recv-msg-size-mib", "64"]
        case _:
            command = [str(binary), "serve"]
            environ |= {"PHOENIX_WORKING_DIR": str(folder), "PHOENIX_PORT": str(http), "PHOENIX_GRPC_PORT": str(grpc)}
            environ |= {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_TELEMETRY_ENABLED": "false"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
    try:
        for port in (http, grpc):
            _wait_for(port)
        yield System(name=name, process=process, http_port=http, grpc_port=grpc, folder=folder)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
