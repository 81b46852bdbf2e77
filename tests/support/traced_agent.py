"""An agent as anybody might write it: the OpenAI client in a tool loop, traced by OpenInference, exported by OTLP."""

import json
from collections.abc import Mapping

from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from whyspan.cli.demo.agent import define
from whyspan.cli.demo.scenarios import SCENARIOS

SCENARIO = SCENARIOS["refund"]
TOOLS = {tool.__name__: tool for tool in SCENARIO.tools}


def run_agent(model_url: str, traces_url: str, headers: Mapping[str, str], resource: Mapping[str, str]) -> bool:
    """Runs the agent once, and returns whether it did what it should not."""
    provider = TracerProvider(resource=Resource({"service.name": "support", **resource}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=traces_url, headers=dict(headers))))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    try:
        with (
            OpenAI(base_url=model_url, api_key="unused") as client,
            provider.get_tracer("support").start_as_current_span("support"),
        ):
            return _loop(client)
    finally:
        OpenAIInstrumentor().uninstrument()
        provider.shutdown()


def _loop(client: OpenAI) -> bool:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": SCENARIO.system},
        {"role": "user", "content": SCENARIO.task},
    ]
    called = []
    for _ in range(10):
        reply = client.chat.completions.create(
            model="standin-refund",
            messages=messages,  # type: ignore[arg-type]  # plain dicts, as the wire has them
            tools=[define(t) for t in SCENARIO.tools],  # type: ignore[misc]
        )
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            assert call.type == "function"
            called.append(call.function.name)
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            break
    return SCENARIO.failure in called
