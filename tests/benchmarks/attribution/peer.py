"""Runs runtape's own `why`, through its public API, on the worlds of this benchmark.

Started by `run.py --peer PYTHON` in an environment that has runtape and not whyspan; prints one JSON line a world.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from typing import Any

from runtape.rerun import FunctionModel, Reply  # type: ignore[import-not-found]  # lives in its own environment
from runtape.trace import Event, Trace  # type: ignore[import-not-found]
from runtape.why import why  # type: ignore[import-not-found]

from tests.benchmarks.attribution.generators import GENERATORS
from tests.benchmarks.attribution.world import World, is_exact, is_hit

_MARKS = re.compile(r"Zq(\d+)x")
Json = dict[str, Any]


def render(world: World) -> tuple[list[Json], list[Json], list[Event]]:
    """Returns messages in OpenAI chat form, tool definitions, and the earlier tool calls as runtape events."""
    messages: list[Json] = []
    tools: list[Json] = []
    events: list[Event] = [Event(0, 0, "run_start", {"name": "benchmark"})]
    arguments: Json = {}
    for number, message in enumerate(world.messages):
        texts = [[world.texts[i] for i in group] for group in message.groups]
        flat = [text for group in texts for text in group]
        if message.role == "tool_definition":
            tools = [
                {"type": "function", "function": {"name": f"tool_{n}", "description": text, "parameters": {}}}
                for n, text in enumerate(flat)
            ]
        elif message.role == "call_arguments":
            arguments = {f"argument_{n}": text for n, text in enumerate(flat)}
        elif message.role == "tool":
            arguments = arguments or {"page": number}
            call = {"name": "read", "arguments": json.dumps(arguments)}
            calls = [{"id": f"c{number}", "type": "function", "function": call}]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            content = _content(message.layout, texts)
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": content})
            made = Event(len(events), 0, "tool_call", {"name": "read", "arguments": arguments})
            events += [made, Event(made.id + 1, 0, "tool_result", {"result": content}, parent=made.id)]
            arguments = {}
        else:
            messages.append({"role": message.role, "content": _content(message.layout, texts)})
    return messages, tools, events


def _content(layout: str, texts: list[list[str]]) -> str:
    if layout == "json":
        return json.dumps([" ".join(group) for group in texts])
    return "\n\n".join(" ".join(group) for group in texts)


def explain(world: World, depth: str) -> Json:
    """Runs runtape on one world and returns the line of its results."""
    messages, tools, events = render(world)
    decision = {"name": world.decision_tool, "arguments": world.decision_arguments}
    request = Event(
        len(events),
        0,
        "llm_request",
        {"provider": "openai", "api": "chat.completions", "model": "simulated", "messages": messages, "tools": tools},
    )
    answer = {"tool_calls": [{**decision, "id": "z"}]}
    events += [request, Event(request.id + 1, 0, "llm_response", answer, parent=request.id)]
    everything = set(_marks(json.dumps([messages, tools])))
    fetched = next((event.payload for event in events if event.type == "tool_call"), None)
    rng, calls = random.Random(f"draws-{world.scenario}-{world.size}-{world.seed}"), 0

    def reply(body: Json) -> Reply:
        nonlocal calls
        calls += 1
        kept = set(_marks(json.dumps([body.get("messages"), body.get("tools")])))
        outcome = world.outcome(frozenset(everything - kept), rng)
        if outcome == "target":
            return Reply(None, [decision])
        if outcome == "other":
            return Reply(None, [{"name": "archive", "arguments": {"id": 12}}])
        return Reply(None, [fetched]) if fetched else Reply("Could you tell me more?", [])

    report = why(Trace(events), request.id, model=FunctionModel(reply), cache_dir=None, workers=1, depth=depth)
    claims, head = _read(report)
    return {
        "calls": calls,
        "head_calls": calls,
        "rounds": 0,
        "hit": is_hit(world, head),
        "named": head is not None,
        "exact": is_exact(world, claims),
        "claims": len(claims),
        "false": sum(world.effect(claim) < 0.02 for claim in claims),
        "seconds": 0.0,
    }


def _read(report: Any) -> tuple[list[frozenset[int]], frozenset[int] | None]:
    """Returns the removals that the report claims, and the one it leads with; masked parents are not counted."""

    def leaves(test: Any) -> frozenset[int]:
        return frozenset(mark for segment in test.removed for mark in _marks(segment.text))

    claims = [leaves(test) for cause in report.causes for test in (cause.chain[1:] if cause.masked else cause.chain)]
    claims += [leaves(cause.refined) for cause in report.causes if cause.refined]
    decisive = [cause for cause in report.causes if cause.kind == "decisive"]
    if report.joint:
        claims.append(leaves(report.joint.finest))
        decisive += [report.joint] if report.joint.kind == "decisive" else []
    head = decisive[0] if decisive else None
    return list(dict.fromkeys(claims)), leaves(head.refined or head.finest) if head else None


def _marks(text: str) -> list[int]:
    return [int(mark) for mark in _MARKS.findall(text)]


def main() -> None:
    """Parses the command line and prints rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generator", choices=GENERATORS, required=True)
    parser.add_argument("--scenarios", required=True)
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--depth", default="quick")
    args = parser.parse_args()
    first, last = map(int, args.seeds.split(":"))
    for scenario in args.scenarios.split(","):
        for size in map(int, args.sizes.split(",")):
            for seed in range(first, last):
                line = explain(GENERATORS[args.generator](scenario, size, seed), args.depth)
                key = {"generator": args.generator, "tool": "runtape", "scenario": scenario, "size": size, "seed": seed}
                sys.stdout.write(json.dumps({**key, **line}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
