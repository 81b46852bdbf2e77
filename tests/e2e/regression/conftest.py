"""Stores with one failed run of each of the demo's agents, and the command line in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from whyspan.cli.demo.agent import run
from whyspan.cli.demo.models import ChatModel
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import serve_standin
from whyspan.cli.main import main
from whyspan.ingest.otlp import decode_traces
from whyspan.ingest.store import Store

# A pytest within pytest forgets at its end what it has imported. What may be imported only once in a process, or takes
# long, is therefore imported before.
for module in (
    "numpy.fft",
    "numpy.random",
    "py3langid.langid",
    "whyspan.analysis.regression.api",
    "whyspan.cli.commands.export",
    "whyspan.cli.commands.fix",
    "whyspan.cli.commands.test",
    "whyspan.cli.report.ci.artefacts",
    "whyspan.cli.report.ci.store_claims",
):
    import_module(module)

MODEL_FILE = "from whyspan.cli.demo.standin import model\n"


@dataclass(frozen=True)
class Failed:
    """A run of a demo's agent that went wrong, alone in a store."""

    name: str
    event: str
    store: Path
    model: str
    """`FILE:FUNCTION`, the stand-in."""


@dataclass(frozen=True)
class Done:
    """What a command said."""

    code: int
    out: str
    err: str


def record_failure(name: str, folder: Path, *, seed: int = 0) -> Failed:
    """Runs an agent until it fails, and keeps that run."""
    scenario = SCENARIOS[name]
    action = scenario.event.removeprefix("tool:")
    with serve_standin(seed=seed) as url:
        for _ in range(20):
            exporter, provider = InMemorySpanExporter(), TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            result = run(scenario, ChatModel(f"standin-{name}", base_url=url), provider.get_tracer("agent"))
            spans = decode_traces(encode_spans(exporter.get_finished_spans()).SerializeToString())
            if any(span.name == f"execute_tool {action}" for span in spans):
                break
    with Store.create(folder / "store") as store:
        store.write(spans)
    (folder / "model.py").write_text(MODEL_FILE)
    assert result.trace_id
    return Failed(name=name, event=scenario.event, store=folder / "store", model=f"{folder / 'model.py'}:model")


@pytest.fixture(scope="module", params=sorted(SCENARIOS))
def failed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Failed:
    return record_failure(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Failed:
    return record_failure("inbox", tmp_path_factory.mktemp("inbox"))


@pytest.fixture(name="whyspan")
def command_line(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def command(*words: str | Path) -> Done:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return Done(code=code, out=said.out, err=said.err)

    return command
