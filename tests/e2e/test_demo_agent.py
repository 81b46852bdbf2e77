import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from whyspan.cli.demo import agent
from whyspan.cli.demo.agent import Run, Scenario, run
from whyspan.cli.demo.models import AnthropicModel, ChatModel, ModelError
from whyspan.cli.demo.scenarios import SCENARIOS
from whyspan.cli.demo.standin import serve_standin
from whyspan.collector.background import running_collector
from whyspan.ingest.calls import Grade
from whyspan.ingest.otlp.traces import decode_traces
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import TraceId
from whyspan.ingest.store import Store

EACH = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


def traced(scenario: Scenario, *, seed: int = 0) -> tuple[Run, list[ReadableSpan]]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with serve_standin(seed=seed) as base_url:
        model = ChatModel(f"standin-{scenario.name}", base_url=base_url)
        finished = run(scenario, model, provider.get_tracer("test"))
    return finished, list(exporter.get_finished_spans())


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


@EACH
def test_agent_fails_as_the_scenario_says(scenario: Scenario) -> None:
    finished, _ = traced(scenario)
    assert finished.calls[-1][0] == scenario.failure
    assert finished.answer


@EACH
def test_run_is_one_trace_with_a_span_for_every_step(scenario: Scenario) -> None:
    finished, spans = traced(scenario)
    root = spans[-1]
    assert root.name == f"invoke_agent {scenario.name}"
    assert {format(span.context.trace_id, "032x") for span in spans} == {finished.trace_id}
    assert all(span.parent and span.parent.span_id == root.context.span_id for span in spans[:-1])
    names = [span.name for span in spans]
    assert names.count(f"chat standin-{scenario.name}") == sum(m["role"] == "assistant" for m in finished.messages)
    assert [n for n in names if n.startswith("execute_tool")] == [f"execute_tool {name}" for name, _ in finished.calls]


@EACH
def test_chat_span_holds_the_whole_request_and_reply(scenario: Scenario) -> None:
    finished, spans = traced(scenario)
    chat = attributes_of([span for span in spans if span.name.startswith("chat ")][-1])
    messages = json.loads(str(chat["gen_ai.input.messages"]))
    assert [message["role"] for message in messages] == [message["role"] for message in finished.messages[:-1]]
    assert messages[0]["parts"] == [{"type": "text", "content": scenario.system}]
    responses = [part for message in messages for part in message["parts"] if part["type"] == "tool_call_response"]
    assert [part["response"] for part in responses] == [
        message["content"] for message in finished.messages if message["role"] == "tool"
    ]
    calls = [part for message in messages for part in message["parts"] if part["type"] == "tool_call"]
    assert [(part["name"], part["arguments"]) for part in calls] == [
        (name, json.loads(arguments)) for name, arguments in finished.calls
    ]
    assert [part["id"] for part in calls] == [part["id"] for part in responses]
    tools = json.loads(str(chat["gen_ai.tool.definitions"]))
    assert [tool["name"] for tool in tools] == [tool.__name__ for tool in scenario.tools]
    assert json.loads(str(chat["gen_ai.output.messages"]))[0]["finish_reason"] == "stop"
    assert chat["gen_ai.response.finish_reasons"] == ("stop",)


def test_wrong_tool_call_is_told_to_the_model_and_marked_on_the_span() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    call = {"id": "c1", "type": "function", "function": {"name": "read_email", "arguments": '{"email_id": "m-999"}'}}
    tools = {tool.__name__: tool for tool in SCENARIOS["inbox"].tools}
    message = agent.execute(call, tools, provider.get_tracer("test"))
    assert message == {"role": "tool", "tool_call_id": "c1", "content": "error: KeyError: 'm-999'"}
    assert attributes_of(exporter.get_finished_spans()[0])["error.type"] == "KeyError"


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_unreachable_model_is_named() -> None:
    model = ChatModel("standin-inbox", base_url=f"http://127.0.0.1:{closed_port()}/v1")
    with pytest.raises(ModelError, match="cannot be reached"):
        model.complete([], [])


def test_unknown_model_brings_the_servers_words() -> None:
    with serve_standin() as base_url, pytest.raises(ModelError, match="standin-ops"):
        ChatModel("gpt-9", base_url=base_url).complete([], [])


def test_copied_script_is_traced_into_a_collector(tmp_path: Path) -> None:
    script = shutil.copy(Path(agent.__file__).with_name("refund.py"), tmp_path / "my_agent.py")
    with running_collector(tmp_path / "store") as collector, serve_standin() as base_url:
        shown = subprocess.run(
            [sys.executable, script, "--local", "standin-refund", "--base-url", base_url],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.http_endpoint},
        )
    assert "→ issue_refund(" in shown.stdout
    trace_id = shown.stdout.rpartition("trace ")[2].strip()
    with Store.open(tmp_path / "store") as store:
        assert store.resolve_run("last") == trace_id
        assert store.spans(TraceId(trace_id))[0].name == "invoke_agent refund"


def test_script_without_a_model_shows_its_usage() -> None:
    script = Path(agent.__file__).with_name("inbox.py")
    shown = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert shown.returncode == 2
    assert "--local MODEL" in shown.stderr


@EACH
def test_rebuilt_request_is_the_one_that_was_sent(scenario: Scenario) -> None:
    finished, spans = traced(scenario)
    calls = rebuild_calls(decode_traces(encode_spans(spans).SerializeToString()), [])
    assert len(calls) == sum(message["role"] == "assistant" for message in finished.messages)
    assert calls[-1].completeness.grade is Grade.SEMANTIC
    assert dict(calls[-1].request) == {
        "model": f"standin-{scenario.name}",
        "messages": list(finished.messages[:-1]),
        "tools": [agent.define(tool) for tool in scenario.tools],
        "temperature": 1.0,
    }


def test_request_to_anthropic_is_rebuilt_in_its_own_form() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with serve_anthropic() as (base_url, bodies):
        model = AnthropicModel("claude-sonnet", base_url=base_url, key="k")
        finished = run(SCENARIOS["inbox"], model, provider.get_tracer("test"))
    assert finished.calls == (("list_emails", "{}"), ("read_email", '{"email_id": "m-101"}'))
    assert finished.answer == "All done."
    assert (finished.input_tokens, finished.output_tokens) == (20, 10)
    encoded = encode_spans(exporter.get_finished_spans()).SerializeToString()
    request = dict(rebuild_calls(decode_traces(encoded), [])[-1].request)
    sent = bodies[-1]
    assert request["messages"] == sent["messages"]
    assert [tool["name"] for tool in request["tools"]] == [tool["name"] for tool in sent["tools"]]
    assert scenario_text(request["system"]) == sent["system"]


def scenario_text(system: object) -> object:
    """The system text as one string, which the provider takes for the same as a list of text blocks."""
    return "".join(block["text"] for block in system) if isinstance(system, list) else system


@contextmanager
def serve_anthropic() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server in Anthropic's format that makes two tool calls and stops; gives its URL and the bodies it got."""
    contents: list[list[dict[str, Any]]] = [
        [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "t1", "name": "list_emails", "input": {}},
            {"type": "tool_use", "id": "t2", "name": "read_email", "input": {"email_id": "m-101"}},
        ],
        [{"type": "text", "text": "All done."}],
    ]
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            content = contents[len(bodies) - 1]
            answer = {
                "id": f"msg_{len(bodies)}",
                "model": "claude-sonnet",
                "content": content,
                "stop_reason": "tool_use" if len(content) > 1 else "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 5},
            }
            self.send_response(200 if self.path == "/v1/messages" and self.headers["x-api-key"] == "k" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
