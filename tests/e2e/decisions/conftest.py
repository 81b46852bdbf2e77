"""A store with runs of the demo's agents, as the OpenTelemetry SDK sends them."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from whyspan.cli.demo.agent import run
from whyspan.cli.demo.models import Message, Reply
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import Standin
from whyspan.cli.main import main
from whyspan.ingest.otlp import decode_traces
from whyspan.ingest.store import Store

MODEL_FILE = "from whyspan.cli.demo.standin import model\n"
SEEDS = range(2)


class Model:
    """The stand-in without HTTP, as an agent's model."""

    provider = "openai"
    temperature = 1.0
    separates_system = False
    base_url = httpx.URL("http://127.0.0.1:1/v1")

    def __init__(self, name: str, seed: int) -> None:
        self.name = f"standin-{name}"
        self._standin = Standin(seed)

    def complete(self, messages: Sequence[Message], tools: Sequence[Message]) -> Reply:
        answer = self._standin.complete({"model": self.name, "messages": list(messages), "tools": list(tools)})
        choice, usage = answer["choices"][0], answer["usage"]
        return Reply(
            id=answer["id"], model=self.name, message=choice["message"], finish_reason=choice["finish_reason"],
            input_tokens=usage["prompt_tokens"], output_tokens=usage["completion_tokens"],
        )  # fmt: skip


def record(name: str, seeds: Sequence[int], path: Path) -> list[str]:
    """Runs an example agent with each seed into a store; returns the trace ids."""
    exporter = InMemorySpanExporter()
    resource = Resource.create({"service.name": f"{name}-agent"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("example-agent")
    ids = [run(SCENARIOS[name], Model(name, seed), tracer).trace_id for seed in seeds]
    provider.shutdown()
    with Store.create(path) as store:
        store.write(decode_traces(encode_spans(exporter.get_finished_spans()).SerializeToString()))
    return ids


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gives a store with two runs of each example agent; nobody writes to it."""
    path = tmp_path_factory.mktemp("recorded") / "store"
    for name in SCENARIOS:
        record(name, SEEDS, path)
    return path


@pytest.fixture
def path(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives a copy of the store to change, in a folder of its own that is the current one and holds `model.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "model.py").write_text(MODEL_FILE)
    shutil.copytree(recorded, tmp_path / ".whyspan")
    return tmp_path / ".whyspan"


@pytest.fixture
def more_inboxes(path: Path) -> Path:
    """Gives that store with four more runs of the mail agent."""
    record("inbox", range(2, 6), path)
    return path


@pytest.fixture
def whyspan(path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Gives the command line: words in, exit code and what was printed out."""

    def invoke(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(words))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return invoke
