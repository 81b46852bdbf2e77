"""Spans of an example agent, after the OpenTelemetry GenAI conventions, with message content captured.

https://github.com/open-telemetry/semantic-conventions-genai has the names and the shapes: a `chat` span for a model
call, an `execute_tool` span for a tool, inside one `invoke_agent` span.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from whyspan.cli.demo.models import Message, Model, Reply

PORTS = {"http": 80, "https": 443}


def trace_to_otlp(service: str, endpoint: str | None = None) -> TracerProvider:
    """Returns a provider that sends spans by OTLP/HTTP; shut it down to send the last ones.

    `endpoint` is the collector's base URL; None leaves the choice to `OTEL_EXPORTER_OTLP_ENDPOINT`, by default
    http://localhost:4318.
    """
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces") if endpoint else OTLPSpanExporter()
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


@contextmanager
def agent_span(tracer: Tracer, agent: str, model: Model) -> Iterator[Span]:
    """A span around a whole run."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": model.provider,
        "gen_ai.agent.name": agent,
        "gen_ai.request.model": model.name,
    }
    with tracer.start_as_current_span(f"invoke_agent {agent}", attributes=attributes) as span:
        yield span


@contextmanager
def chat_span(
    tracer: Tracer, model: Model, messages: Sequence[Message], definitions: Sequence[Message]
) -> Iterator[Span]:
    """A span around one model call; `record_reply` completes it."""
    attributes: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.provider,
        "gen_ai.request.model": model.name,
        "gen_ai.request.temperature": model.temperature,
        "server.address": model.base_url.host,
        "server.port": model.base_url.port or PORTS[model.base_url.scheme],
        **_describe_input(model, messages),
    }
    if definitions:
        attributes["gen_ai.tool.definitions"] = _json(
            [{"type": "function", **tool["function"]} for tool in definitions]
        )
    with tracer.start_as_current_span(f"chat {model.name}", kind=SpanKind.CLIENT, attributes=attributes) as span:
        yield span


def record_reply(span: Span, reply: Reply) -> None:
    """Puts the answer on the span of its call."""
    # Messages have a word of the conventions for this reason; the list of reasons keeps the provider's.
    reason = "tool_call" if reply.message.get("tool_calls") else reply.finish_reason
    span.set_attributes(
        {
            "gen_ai.response.id": reply.id,
            "gen_ai.response.model": reply.model,
            "gen_ai.response.finish_reasons": [reply.finish_reason],
            "gen_ai.usage.input_tokens": reply.input_tokens,
            "gen_ai.usage.output_tokens": reply.output_tokens,
            "gen_ai.output.messages": _json([{**_describe(reply.message), "finish_reason": reason}]),
        }
    )


@contextmanager
def tool_span(tracer: Tracer, call: Message) -> Iterator[Span]:
    """A span around the execution of one tool call; `record_result` completes it."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call["function"]["name"],
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call["id"],
        "gen_ai.tool.call.arguments": call["function"]["arguments"],
    }
    with tracer.start_as_current_span(f"execute_tool {call['function']['name']}", attributes=attributes) as span:
        yield span


def record_result(span: Span, result: str, error: Exception | None = None) -> None:
    """Puts what the tool gave back on its span."""
    span.set_attribute("gen_ai.tool.call.result", result)
    if error:
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(Status(StatusCode.ERROR, str(error)))


def _describe_input(model: Model, messages: Sequence[Message]) -> dict[str, str]:
    if not model.separates_system:
        return {"gen_ai.input.messages": _json([_describe(message) for message in messages])}
    system = [message for message in messages if message["role"] == "system"]
    return {
        "gen_ai.system_instructions": _json([part for message in system for part in _describe(message)["parts"]]),
        "gen_ai.input.messages": _json([_describe(message) for message in messages if message not in system]),
    }


def _describe(message: Message) -> Message:
    """Returns a chat message in the form of the conventions: a role and its parts."""
    if message["role"] == "tool":
        parts = [{"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}]
        return {"role": "tool", "parts": parts}
    parts = [{"type": "text", "content": message["content"]}] if message.get("content") else []
    for call in message.get("tool_calls") or ():
        name, arguments = call["function"]["name"], _parse(call["function"]["arguments"])
        parts.append({"type": "tool_call", "id": call["id"], "name": name, "arguments": arguments})
    return {"role": message["role"], "parts": parts}


def _parse(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments  # A model can write invalid JSON; the trace should show it.


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
