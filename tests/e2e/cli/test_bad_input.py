"""What goes wrong for a user gets one line, a hint and the right exit code, and leaves a store that works."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from whyspan.cli.demo.agent import run
from whyspan.cli.demo.models import ChatModel
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import serve_standin
from whyspan.collector.background import running_collector
from whyspan.ingest.errors import ExitCode
from whyspan.ingest.spans import AnyValue, Span, SpanId, TraceId
from whyspan.ingest.store import Store

EVENT = SCENARIOS["inbox"].event
UNREACHABLE = "http://127.0.0.1:9/v1"
ENVIRON = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "WHYSPAN_", "OTEL_"))}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A store with one run of the inbox agent, and the URL of its model."""
    store = tmp_path_factory.mktemp("bad-input") / "store"
    with serve_standin(seed=1) as base_url:
        with running_collector(store) as collector:
            provider = TracerProvider()
            exporter = OTLPSpanExporter(endpoint=f"{collector.http_endpoint}/v1/traces")
            provider.add_span_processor(BatchSpanProcessor(exporter))
            run(SCENARIOS["inbox"], ChatModel("standin-inbox", base_url=base_url), provider.get_tracer("agent"))
            provider.shutdown()
        yield store, base_url


def whyspan(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whyspan", "--store", str(store), *words]
    return subprocess.run(command, env=ENVIRON, capture_output=True, text=True, check=False, timeout=120)


def assert_error(done: subprocess.CompletedProcess[str], code: ExitCode, *parts: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert "Traceback" not in done.stderr
    assert [p for p in parts if p not in done.stderr] == [], done.stderr


def test_an_unknown_run_names_the_latest_ones(world: tuple[Path, str]) -> None:
    done = whyspan(world[0], "why", "ffff", "--base-url", UNREACHABLE)
    assert_error(done, ExitCode.BAD_DATA, "ffff", "hint: the latest runs")


def test_an_ambiguous_prefix_lists_the_candidates(tmp_path: Path) -> None:
    ids = [TraceId("ab" + c * 30) for c in "01"]
    with Store.create(tmp_path / "store") as store:
        store.write([Span(trace_id=t, span_id=SpanId("1" * 16), name="root", start_ns=1, end_ns=2) for t in ids])
    done = whyspan(tmp_path / "store", "show", "ab")
    assert_error(done, ExitCode.USAGE, *(t[:12] for t in ids))


def test_an_event_that_no_call_has_lists_those_there_are(world: tuple[Path, str]) -> None:
    done = whyspan(world[0], "why", "last", "tool:drop_database", "--base-url", UNREACHABLE)
    assert_error(done, ExitCode.BAD_DATA, "tool:drop_database", "tool:list_emails", "#1 …")


def test_a_wrong_event_shows_the_grammar(world: tuple[Path, str]) -> None:
    assert_error(whyspan(world[0], "why", "last", "tol:x", "--base-url", UNREACHABLE), ExitCode.USAGE, "tool:NAME")


def test_an_unreachable_model_is_an_upstream_failure(world: tuple[Path, str]) -> None:
    done = whyspan(world[0], "why", "last", "#3", "--base-url", UNREACHABLE)
    assert_error(done, ExitCode.UPSTREAM, UNREACHABLE, "--base-url")


def test_a_model_function_that_raises_is_an_upstream_failure(world: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def model(request):\n    raise RuntimeError('no luck')\n")
    done = whyspan(world[0], "why", "last", "#3", "--model-fn", f"{tmp_path}/broken.py:model")
    assert_error(done, ExitCode.UPSTREAM, "RuntimeError: no luck")


def test_a_run_without_content_says_what_to_switch_on(tmp_path: Path) -> None:
    attributes: dict[str, AnyValue] = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.input_tokens": 5,
    }  # fmt: skip
    span = Span(
        trace_id=TraceId("c" * 32), span_id=SpanId("d" * 16), name="chat gpt-4o", kind=3, start_ns=1, end_ns=2,
        attributes=attributes,
    )  # fmt: skip
    with Store.create(tmp_path / "store") as store:
        store.write([span])
    done = whyspan(tmp_path / "store", "why", "last", "no-tool", "--base-url", UNREACHABLE)
    assert done.returncode == ExitCode.BAD_DATA
    done = whyspan(tmp_path / "store", "why", "last", "last", "--base-url", UNREACHABLE)
    assert_error(done, ExitCode.BAD_DATA, "CAPTURE_MESSAGE_CONTENT")


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = whyspan(tmp_path / "store", "serve", "--http-port", str(port), "--grpc-port", "0")
    assert_error(done, ExitCode.USAGE, str(port), "--http-port")


def test_an_endpoint_that_is_down_keeps_the_claims(world: tuple[Path, str]) -> None:
    store, base_url = world
    assert whyspan(store, "why", "last", EVENT, "--base-url", base_url).returncode == ExitCode.OK
    done = whyspan(store, "writeback", "last", "--endpoint", "http://127.0.0.1:9")
    assert_error(done, ExitCode.UPSTREAM, "http://127.0.0.1:9/v1/traces")


def test_an_interrupt_leaves_a_store_that_goes_on(world: tuple[Path, str], tmp_path: Path) -> None:
    store, _ = world
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import time\nfrom whyspan.cli.demo.standin import model as fast\n\n"
        "def model(request):\n    time.sleep(0.3)\n    return fast(request)\n"
    )
    words = ["why", "last", EVENT, "--model-fn", f"{slow}:model"]
    process = subprocess.Popen(
        [sys.executable, "-m", "whyspan", "--store", str(store), *words], env=ENVIRON, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while replies(store, slow) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in errors
    kept = replies(store, slow)
    assert kept >= 4
    assert whyspan(store, "sql", "select count(*) from trials").returncode == ExitCode.OK
    done = whyspan(store, *words, "--budget", "1", "--json")
    assert done.returncode == ExitCode.BUDGET, done.stderr
    assert replies(store, slow) == kept + 1, "what was paid for is not paid for again"


def replies(store: Path, model_file: Path) -> int:
    """Counts stored replies of a model function."""
    import sqlite3

    path = store / "replies.sqlite"
    if not path.exists():
        return 0
    with sqlite3.connect(path) as db:
        found = db.execute("SELECT count(*) FROM replies WHERE endpoint LIKE ?", (f"%{model_file.name}%",)).fetchone()
    db.close()
    return int(found[0])
