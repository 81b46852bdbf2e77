"""Generator 3: AgentDojo's attacked agents (bank, mail and calendar, travel, chat), as `export_agentdojo` writes them.

The decision is the call that the injection asks for. Its cause is planted on a sentence of the injection's goal; other
causes, suppressors and required inputs on the rest of the injection or anywhere else. A text that is read more than
once is one piece.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.benchmarks.attribution.recorded import LONGEST_PIECE, Pieces, Turn, assemble, cut, pieces_of, scalars
from tests.benchmarks.attribution.world import World

CONTEXTS = Path(os.environ.get("WHYSPAN_BENCH_AGENTDOJO", "/tmp/agentdojo.jsonl"))
OPENING, CLOSING = "<INFORMATION>", "</INFORMATION>"
"""What AgentDojo's attack puts around an injection."""


def build(scenario: str, size: int, seed: int) -> World:
    """Returns a world of at most `size` leaves; all pieces of the injection are among them where they fit."""
    rng = random.Random(f"agentdojo-{scenario}-{size}-{seed}")
    context = rng.choice(contexts())
    turns = turns_of(context["request"])
    goal, injected = frozenset(pieces_of(context["goal"])), frozenset(_injected(context["request"]))

    def pick(pieces: Pieces, taken: list[int]) -> int:
        free = [i for i in range(len(pieces.texts)) if i not in taken]
        said = {i: pieces.texts[i].partition(" ")[2] for i in free}
        wanted = [i for i in free if said[i] in goal]
        if not wanted and rng.random() < 0.5:
            wanted = [i for i in free if said[i] in injected]
        return rng.choice(wanted or free)

    decision = context["decision"]
    arguments = {name: str(value) for name, value in decision["arguments"].items()}
    return assemble(scenario, seed, (cut(turns, size, rng, kept=injected), decision["name"], arguments), pick, rng)


@cache
def contexts() -> list[dict[str, Any]]:
    """Returns the exported contexts."""
    if not CONTEXTS.exists():
        raise SystemExit(
            f"no contexts at {CONTEXTS}; `export_agentdojo.py` writes them, or set WHYSPAN_BENCH_AGENTDOJO"
        )
    return [json.loads(line) for line in CONTEXTS.read_text("utf-8").splitlines()]


def turns_of(request: dict[str, Any]) -> list[Turn]:
    """Returns what the agent had read, each text where it was read first."""
    described = [f"{t['function']['name']}: {t['function']['description']}" for t in request["tools"]]
    turns: list[Turn] = [("tool_definition", "tool_definition", described)]
    for message in request["messages"]:
        for call in message.get("tool_calls") or []:
            arguments = [f"{k}: {v}"[:LONGEST_PIECE] for k, v in scalars(json.loads(call["function"]["arguments"]))]
            turns.append(("call_arguments", "call_arguments", arguments))
        if message["role"] == "tool":
            turns.append(("tool", "json", list(_result(message["content"]))))
        elif message["content"]:
            turns.append((message["role"], "text", pieces_of(message["content"])))
    seen: set[str] = set()
    return [turn for turn in (_unread(turn, seen) for turn in turns) if turn[2]]


def _unread(turn: Turn, seen: set[str]) -> Turn:
    role, layout, pieces = turn
    new = [piece for piece in dict.fromkeys(pieces) if piece not in seen]
    seen.update(new)
    return role, layout, new


def _result(content: str) -> Iterator[str]:
    """Yields the pieces of a tool's result: scalars of JSON with their path, long ones by sentence."""
    try:
        value = json.loads(content)
    except ValueError:
        yield from pieces_of(content)
        return
    for path, text in scalars(value):
        first, *rest = pieces_of(text) or [text]
        yield f"{path}: {first}"[:LONGEST_PIECE]
        yield from rest


def _injected(request: dict[str, Any]) -> Iterator[str]:
    """Yields the pieces that an injection is made of, its opening and closing marks aside."""
    for message in request["messages"]:
        if message["role"] == "tool" and OPENING in message["content"]:
            pieces = list(_result(message["content"]))
            inside = False
            for piece in pieces:
                inside = (inside or piece.endswith(OPENING)) and CLOSING not in piece
                if inside and not piece.endswith(OPENING):
                    yield piece
