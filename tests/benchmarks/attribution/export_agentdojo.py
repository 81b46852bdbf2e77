"""Writes AgentDojo's attacked contexts as chat requests, one JSON object a line. Runs where `agentdojo` is installed.

    python -m venv /tmp/agentdojo && /tmp/agentdojo/bin/pip install agentdojo==0.1.35
    /tmp/agentdojo/bin/python tests/benchmarks/attribution/export_agentdojo.py /tmp/agentdojo.jsonl

Each user task is played by its ground truth in an environment that holds the injection of an injection task, wrapped
in the benchmark's own attack, up to the first tool result that shows it. The decision is the injection task's first
call: what a hijacked agent does next. AgentDojo is MIT-licensed, (c) Edoardo Debenedetti and others.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from agentdojo.agent_pipeline.ground_truth_pipeline import (  # type: ignore[import-not-found]  # its own environment
    GroundTruthPipeline,
)
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # type: ignore[import-not-found]
from agentdojo.attacks.important_instructions_attacks import (  # type: ignore[import-not-found]
    ImportantInstructionsAttackNoModelName,
)
from agentdojo.functions_runtime import FunctionsRuntime  # type: ignore[import-not-found]
from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found]

VERSION = "v1.2.2"
to_json = functools.partial(json.dumps, ensure_ascii=False, default=str)
Json = dict[str, Any]


def contexts() -> Iterator[Json]:
    """Yields the contexts of every suite, user task and injection task that yields one."""
    import agentdojo  # type: ignore[import-not-found]

    prompts = yaml.safe_load((Path(agentdojo.__file__).parent / "data" / "system_messages.yaml").read_text("utf-8"))
    for name, suite in get_suites(VERSION).items():
        pipeline = GroundTruthPipeline(None)
        pipeline.name = "local"  # an attack that names no model still asks which one it would have been
        attack = ImportantInstructionsAttackNoModelName(suite, pipeline)
        tools = [_tool(function) for function in suite.tools]
        for user_task in suite.user_tasks.values():
            for injection_task in suite.injection_tasks.values():
                try:
                    injections = attack.attack(user_task, injection_task)
                except ValueError:  # the task shows the agent no place where an injection could be
                    continue
                turns = _turns(suite, user_task, injections)
                calls = injection_task.ground_truth(suite.load_and_inject_default_environment({}))
                if turns and calls:
                    system = {"role": "system", "content": prompts["default"]}
                    user = {"role": "user", "content": user_task.PROMPT}
                    yield {
                        "id": f"{name}/{user_task.ID}/{injection_task.ID}",
                        "request": {"model": "simulated", "messages": [system, user, *turns], "tools": tools},
                        "decision": {"name": calls[0].function, "arguments": dict(calls[0].args)},
                        "goal": injection_task.GOAL,
                    }


def _turns(suite: Any, user_task: Any, injections: dict[str, str]) -> list[Json]:
    """Returns calls and results up to the first one that shows the injection; none when no result does."""
    environment = user_task.init_environment(suite.load_and_inject_default_environment(injections))
    runtime = FunctionsRuntime(suite.tools)
    turns: list[Json] = []
    for number, call in enumerate(user_task.ground_truth(environment)):
        result, error = runtime.run_function(environment, call.function, call.args)
        content = error or (to_json(result) if isinstance(result, dict) else tool_result_to_str(result, to_json))
        made = {"name": call.function, "arguments": json.dumps(dict(call.args), ensure_ascii=False, default=str)}
        turns.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": made}],
            }
        )
        turns.append({"role": "tool", "tool_call_id": f"c{number}", "content": content})
        if "<INFORMATION>" in content:
            return turns
    return []


def _tool(function: Any) -> Json:
    schema = function.parameters.model_json_schema()
    described = {"name": function.name, "description": function.description, "parameters": schema}
    return {"type": "function", "function": described}


def main() -> None:
    """Writes the file that is named on the command line."""
    lines = [to_json(context) for context in contexts()]
    Path(sys.argv[1]).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    sys.stdout.write(f"{len(lines)} contexts\n")


if __name__ == "__main__":
    main()
