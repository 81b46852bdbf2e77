"""Generator 2: real conversations, with causes anywhere the model reads.

Airline support dialogues with JSON tool results (tau-bench), several agents working out a question (Who&When) and long
coding sessions (SWE-agent), read where they lie. The decision is a real next step; the cause is planted on a real
piece: words of the user, system prompt, tool description, call arguments, the agent's own text, or a tool result.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.benchmarks.attribution.recorded import (
    LONGEST_PIECE,
    Decision,
    Pieces,
    Turn,
    assemble,
    cut,
    pieces_of,
    tool_result,
)
from tests.benchmarks.attribution.world import World

DATA = Path(os.environ.get("WHYSPAN_BENCH_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
"""Folder of public recordings; see ORIGIN.md in each of its parts."""

_PLACES = {
    "tool": 0.3,
    "user": 0.25,
    "system": 0.15,
    "assistant": 0.12,
    "tool_definition": 0.09,
    "call_arguments": 0.09,
}
"""Where a cause is planted, as far as the conversation has such pieces."""


def build(scenario: str, size: int, seed: int) -> World:
    """Returns a world of at most `size` leaves, cut from a recording that has enough of them where there is one."""
    rng = random.Random(f"documents-{scenario}-{size}-{seed}")
    turns, tool, arguments = rng.choice(_decisions())
    words = set(re.findall(r"\w+", f"{tool} {json.dumps(arguments)}".lower()))

    def pick(pieces: Pieces, taken: list[int]) -> int:
        places = {p: w for p, w in _PLACES.items() if any(r == p for i, r in enumerate(pieces.roles) if i not in taken)}
        place = rng.choices(list(places), list(places.values()))[0]
        there = [i for i, role in enumerate(pieces.roles) if role == place and i not in taken]
        kindred = [i for i in there if words & set(re.findall(r"\w+", pieces.texts[i].lower()))]
        return rng.choice(kindred if kindred and rng.random() < 0.5 else there)

    return assemble(scenario, seed, (cut(turns, size, rng), tool, arguments), pick, rng)


@cache
def _decisions() -> list[Decision]:
    """Returns (turns before it, tool, arguments) of every decision usable as a world; most are from dialogues."""
    found = [*_dialogues(), *_agents(), *_sessions()]
    if not found:
        raise SystemExit(f"no recordings under {DATA}; set WHYSPAN_BENCH_DATA")
    return [d for d in found if sum(len(pieces) for _, _, pieces in d[0]) >= 12]


def _dialogues() -> Iterator[Decision]:
    path = DATA / "tau_bench" / "gpt-4o-airline.json"
    for task in json.loads(path.read_text())[:120] if path.exists() else []:
        calls = [c["function"] for m in task["traj"] for c in m.get("tool_calls") or []]
        tools = {c["name"]: sorted(json.loads(c["arguments"])) for c in calls}
        described = [
            f"Tool {name.replace('_', ' ')}, with {', '.join(a) or 'no'} arguments" for name, a in tools.items()
        ]
        turns: list[Turn] = [("tool_definition", "tool_definition", described)]
        last = None
        for message in task["traj"]:
            for call in message.get("tool_calls") or []:
                arguments = {k: json.dumps(v) for k, v in json.loads(call["function"]["arguments"]).items()}
                last = (list(turns), call["function"]["name"], arguments)
                turns.append(
                    ("call_arguments", "call_arguments", [f"{k}: {v}"[:LONGEST_PIECE] for k, v in arguments.items()])
                )
            if message["role"] == "tool":
                turns.append(tool_result(message["content"]))
            elif message.get("content"):
                turns.append((message["role"], "text", pieces_of(message["content"])))
        if last is not None:
            yield [t for t in last[0] if t[2]], last[1], last[2]


def _agents() -> Iterator[Decision]:
    folder = DATA / "who_and_when" / "algorithm-generated"
    for path in sorted(folder.glob("*.json"))[:60]:
        history = json.loads(path.read_text())["history"]
        turns: list[Turn] = [
            ("user" if n == 0 else "assistant", "text", pieces_of(step["content"]))
            for n, step in enumerate(history[:-1])
        ]
        last = history[-1]
        arguments = {"to": str(last.get("name") or last.get("role")), "message": str(last["content"])[:120]}
        yield [t for t in turns if t[2]], "hand_over", arguments


def _sessions() -> Iterator[Decision]:
    for path in sorted((DATA / "swe_agent").rglob("*.traj")):
        turns: list[Turn] = []
        last = None
        for n, step in enumerate(json.loads(path.read_text())["history"]):
            if not isinstance(step["content"], str) or not step["content"]:
                continue
            if step["role"] == "assistant":
                last = (list(turns), "bash", {"command": str(step.get("action") or step["content"])[:160]})
            role = step["role"] if step["role"] != "user" or n < 2 else "tool"
            turns.append((role, "text", pieces_of(step["content"])))
        if last is not None:
            yield [t for t in last[0] if t[2]], last[1], last[2]
