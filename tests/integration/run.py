"""Starts real back ends in environments of their own and runs the tests of this folder against them."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

HERE = Path(__file__).parent
PACKAGES = {
    "phoenix": ("arize-phoenix==20.26.1",),
    "mlflow": ("mlflow==3.17.2",),
    "langfuse3": ("langfuse>=3,<4", "openai"),
    "langfuse4": ("langfuse>=4,<5", "openai"),
    "langfuse5": ("langfuse>=5,<6", "openai"),
    "rotel": ("rotel==0.0.1a15",),
}
NODE_PACKAGES = tuple(f"@opentelemetry/{name}" for name in ("sdk-trace-node", "resources", "exporter-trace-otlp-http"))
PHOENIX_PORT, PHOENIX_GRPC_PORT, MLFLOW_PORT = 16006, 16007, 15000
STARTUP_S = 240


def make_environment(folder: Path, packages: Sequence[str]) -> None:
    """Makes a virtual environment, unless an earlier run has."""
    done = folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", *packages], check=True)
        done.touch()


def make_node_environment(folder: Path) -> None:
    """Installs the Node packages, unless an earlier run has."""
    if not (folder / "node_modules").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, *NODE_PACKAGES], check=True)


@contextmanager
def running(command: Sequence[str], ready_url: str, folder: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Runs a server until the block ends; its output is in `server.log`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environ}, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait_for(ready_url, process)
            yield
        finally:
            os.killpg(process.pid, 15)
            process.wait(30)


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Waits until a server answers."""
    deadline = time.monotonic() + STARTUP_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url, timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    sys.exit(f"{url} does not answer; see server.log")


def start_phoenix(work: Path, stack: ExitStack) -> dict[str, str]:
    """Starts Phoenix and returns what finds it."""
    url = f"http://127.0.0.1:{PHOENIX_PORT}"
    environ = {
        "PHOENIX_WORKING_DIR": str(work / "run-phoenix"),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(PHOENIX_PORT),
        "PHOENIX_GRPC_PORT": str(PHOENIX_GRPC_PORT),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    command = [str(work / "phoenix" / "bin" / "phoenix"), "serve"]
    stack.enter_context(running(command, f"{url}/healthz", work / "run-phoenix", environ))
    return {"PHOENIX_BASE_URL": url}


def start_mlflow(work: Path, stack: ExitStack) -> dict[str, str]:
    """Starts MLflow and returns what finds it."""
    url = f"http://127.0.0.1:{MLFLOW_PORT}"
    environ = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    command = [
        str(work / "mlflow" / "bin" / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(MLFLOW_PORT),
        "--backend-store-uri", "sqlite:///mlflow.db", "--workers", "1",
    ]  # fmt: skip
    stack.enter_context(running(command, f"{url}/health", work / "run-mlflow", environ))
    return {"MLFLOW_TRACKING_URI": url}


def main() -> int:
    """Returns pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "whyspan-integration")
    parser.add_argument("pytest", nargs="*", help="options for pytest, after --")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    for name, packages in PACKAGES.items():
        make_environment(work / name, packages)
    make_node_environment(work / "node")
    with ExitStack() as stack:
        found = {**start_phoenix(work, stack), **start_mlflow(work, stack), "WHYSPAN_INTEGRATION": str(work)}
        command = [sys.executable, "-m", "pytest", "-v", str(HERE), *arguments.pytest]
        return subprocess.run(command, env={**os.environ, **found}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
