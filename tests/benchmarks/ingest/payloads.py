"""Synthetic trace export requests: small spans, GenAI spans of 12 KB, and agent runs that repeat their conversation.

Text is source code of the standard library, cut at random places.
"""

import json
import random
import sysconfig
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SMALL_SPANS, GENAI_SPANS = 512, 32
_T0 = time.time_ns() // 10**9 * 10**9 - 3600 * 10**9
"""An hour ago: old data are merged sooner."""
Value = str | int | float | bool | list[str]


@dataclass(frozen=True, slots=True)
class Payload:
    """An encoded request."""

    body: bytes
    spans: int


@cache
def _corpus() -> str:
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:120]
    return "".join(file.read_text(errors="replace") for file in files)


def _text(rnd: random.Random, length: int) -> str:
    start = rnd.randrange(len(_corpus()) - length - 1)
    return _corpus()[start : start + length]


def _set(target: Any, attributes: dict[str, Value]) -> None:
    for key, value in attributes.items():
        pair = target.add()
        pair.key = key
        match value:
            case bool():
                pair.value.bool_value = value
            case int():
                pair.value.int_value = value
            case float():
                pair.value.double_value = value
            case str():
                pair.value.string_value = value
            case _:
                for item in value:
                    pair.value.array_value.values.add().string_value = item


def _request(scope: str, number: int) -> tuple[ExportTraceServiceRequest, Any]:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    sender = {"service.name": f"agent-{number % 5}", "telemetry.sdk.language": "python", "host.name": f"h{number % 5}"}
    _set(group.resource.attributes, {**sender})
    spans = group.scope_spans.add()
    spans.scope.name = scope
    return request, spans.spans


def _span(spans: Any, rnd: random.Random, trace_id: bytes, name: str, start: int, attributes: dict[str, Value]) -> Any:
    span = spans.add(trace_id=trace_id, span_id=rnd.randbytes(8), name=name, kind=3)
    span.start_time_unix_nano = start
    span.end_time_unix_nano = start + rnd.randrange(10**6, 10**9)
    _set(span.attributes, attributes)
    return span


def small(rnd: random.Random, number: int) -> Payload:
    """Returns 512 spans of 250 bytes, eight a trace."""
    request, spans = _request("opentelemetry.instrumentation.httpx", number)
    trace_id = b""
    for n in range(SMALL_SPANS):
        trace_id = rnd.randbytes(16) if n % 8 == 0 else trace_id
        attributes: dict[str, Value] = {
            "http.request.method": "GET",
            "url.full": f"http://svc.local/api/items/{rnd.randrange(10**6)}",
            "http.response.status_code": 200,
            "server.address": "svc.local",
            "server.port": 8080,
            "thread.id": rnd.randrange(10**6),
        }
        _span(spans, rnd, trace_id, "GET /api", _T0 + number * 10**9 + n * 1000, attributes)
    return Payload(request.SerializeToString(), SMALL_SPANS)


def _call(messages: str, output: str) -> dict[str, Value]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-2026-01",
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.max_tokens": 4096,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": len(messages) // 4,
        "gen_ai.usage.output_tokens": len(output) // 4,
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.agent.name": "researcher",
        "gen_ai.input.messages": messages,
        "gen_ai.output.messages": output,
        "server.address": "api.openai.com",
    }


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def genai(rnd: random.Random, number: int) -> Payload:
    """Returns 32 model calls of 12 KB each, eight a trace, whose texts have nothing in common."""
    request, spans = _request("opentelemetry.instrumentation.openai_v2", number)
    trace_id = b""
    for n in range(GENAI_SPANS):
        trace_id = rnd.randbytes(16) if n % 8 == 0 else trace_id
        messages = json.dumps([_message("user", _text(rnd, rnd.randrange(800, 18_000)))])
        output = json.dumps([_message("assistant", _text(rnd, rnd.randrange(100, 2_000)))])
        _span(spans, rnd, trace_id, "chat gpt-5", _T0 + number * 10**9 + n * 1000, _call(messages, output))
    return Payload(request.SerializeToString(), GENAI_SPANS)


def agent_run(rnd: random.Random, turns: int, *, tool_result: int = 3_000, start_ns: int = _T0) -> list[Payload]:
    """Returns the requests of one run, a request a turn: each model call repeats the whole conversation."""
    trace_id, requests = rnd.randbytes(16), []
    system = json.dumps([{"type": "text", "content": _text(rnd, 6_000)}])
    tools = json.dumps([{"type": "function", "name": f"t{n}", "description": _text(rnd, 2_000)} for n in range(4)])
    messages = [_message("user", _text(rnd, 1_200))]
    for turn in range(turns):
        request, spans = _request("agent", 0)
        call = {"type": "tool_call", "id": f"c{turn}", "name": "t1", "arguments": {"q": _text(rnd, 80)}}
        reply = _message("assistant", _text(rnd, 400))
        reply["parts"].append(call)
        fixed: dict[str, Value] = {"gen_ai.system_instructions": system, "gen_ai.tool.definitions": tools}
        start = start_ns + turn * 5 * 10**9
        _span(spans, rnd, trace_id, "chat", start, _call(json.dumps(messages), json.dumps([reply])) | fixed)
        result = _text(rnd, rnd.randrange(200, tool_result))
        tool: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": result}
        _span(spans, rnd, trace_id, "execute_tool t1", start + 3 * 10**9, tool)
        messages += [
            reply,
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{turn}", "response": result}]},
        ]
        requests.append(Payload(request.SerializeToString(), 2))
    return requests


def trace_id_of(body: bytes) -> str:
    """Returns the trace of a request's first span."""
    request = ExportTraceServiceRequest.FromString(body)
    return request.resource_spans[0].scope_spans[0].spans[0].trace_id.hex()
