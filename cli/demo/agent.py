"""A small agent: the loop that the three example scripts share.

Ask the model, run the tools it calls, give it the results, until it answers in words. Copy this, `tracing.py`,
`models.py` and a scenario to start an agent of your own.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from opentelemetry.trace import Tracer, format_trace_id

from whyspan.cli.demo.models import Message, Model, ModelError, choose_model
from whyspan.cli.demo.tracing import agent_span, chat_span, record_reply, record_result, tool_span, trace_to_otlp

Tool = Callable[..., str]
"""A plain function: its name, docstring and annotations become the definition that the model sees."""

MAX_TURNS = 12
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """An agent, the task it is given, and what goes wrong."""

    name: str
    title: str
    """The failure in one line."""
    event: str
    """The decision to ask about, in whyspan's words, e.g. `tool:forward_email`."""
    planted: str
    """The sentence that causes it."""
    system: str
    task: str
    tools: tuple[Tool, ...]

    @property
    def failure(self) -> str:
        """The tool whose call is the failure."""
        return self.event.removeprefix("tool:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished run of an agent."""

    trace_id: str
    messages: tuple[Message, ...]
    """The conversation, in OpenAI chat form."""
    input_tokens: int
    output_tokens: int

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """The tool calls in order: name and argument string."""
        made = [call["function"] for message in self.messages for call in message.get("tool_calls") or ()]
        return tuple((function["name"], function["arguments"]) for function in made)

    @property
    def answer(self) -> str:
        """The agent's last words."""
        return self.messages[-1].get("content") or ""


def run(scenario: Scenario, model: Model, tracer: Tracer) -> Run:
    """Runs the agent until it answers in words, or for MAX_TURNS model calls. Raises ModelError."""
    messages: list[Message] = [
        {"role": "system", "content": scenario.system},
        {"role": "user", "content": scenario.task},
    ]
    tools = {tool.__name__: tool for tool in scenario.tools}
    definitions = [define(tool) for tool in scenario.tools]
    input_tokens = output_tokens = 0
    with agent_span(tracer, scenario.name, model) as span:
        for _ in range(MAX_TURNS):
            with chat_span(tracer, model, messages, definitions) as call_span:
                reply = model.complete(messages, definitions)
                record_reply(call_span, reply)
            messages.append(reply.message)
            input_tokens += reply.input_tokens
            output_tokens += reply.output_tokens
            if not reply.message.get("tool_calls"):
                break
            messages += [execute(call, tools, tracer) for call in reply.message["tool_calls"]]
        trace_id = format_trace_id(span.get_span_context().trace_id)
    return Run(trace_id=trace_id, messages=tuple(messages), input_tokens=input_tokens, output_tokens=output_tokens)


def execute(call: Message, tools: Mapping[str, Tool], tracer: Tracer) -> Message:
    """Runs one tool call; returns the message that carries the result to the model."""
    with tool_span(tracer, call) as span:
        try:
            result = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            record_result(span, result)
        except (KeyError, TypeError, ValueError) as error:
            # A model can name a tool or an id that does not exist; told so, it can correct itself.
            result = f"error: {type(error).__name__}: {error}"
            record_result(span, result, error)
    return {"role": "tool", "tool_call_id": call["id"], "content": result}


def define(tool: Tool) -> Message:
    """Returns a tool's definition in OpenAI chat form."""
    parameters = inspect.signature(tool).parameters.values()
    schema = {
        "type": "object",
        "properties": {parameter.name: {"type": JSON_TYPES[parameter.annotation]} for parameter in parameters},
        "required": [parameter.name for parameter in parameters],
    }
    function = {"name": tool.__name__, "description": inspect.getdoc(tool) or "", "parameters": schema}
    return {"type": "function", "function": function}


def main(scenario: Scenario) -> None:
    """The command line of an example agent."""
    parser = argparse.ArgumentParser(description=f"{scenario.title}.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--openai", metavar="MODEL", help="a model of OpenAI; needs OPENAI_API_KEY")
    which.add_argument("--anthropic", metavar="MODEL", help="a model of Anthropic; needs ANTHROPIC_API_KEY")
    which.add_argument("--local", metavar="MODEL", help="a model of any OpenAI-compatible server")
    parser.add_argument("--base-url", metavar="URL", help="where the server is; --local takes Ollama's port by default")
    options = vars(parser.parse_args())
    provider = trace_to_otlp(f"{scenario.name}-agent")
    try:
        finished = run(scenario, choose_model(**options), provider.get_tracer("example-agent"))
    except ModelError as error:
        sys.exit(f"error: {error}\nhint: {error.hint}")
    finally:
        provider.shutdown()
    for name, arguments in finished.calls:
        print(f"→ {name}({arguments})")
    print(f"\n{finished.answer}\n\ntrace {finished.trace_id}")
