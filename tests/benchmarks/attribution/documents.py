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
from typing import Any

from tests.benchmarks.attribution.world import MARK, MEMBERS, RATES, Message, World

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
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(*-])|\n+")
_LONGEST_PIECE = 400
Turn = tuple[str, str, list[str]]
"""Role, layout, texts of the pieces."""


def build(scenario: str, size: int, seed: int) -> World:
    """Returns a world of at most `size` leaves, cut from a recording that has enough of them where there is one."""
    rng = random.Random(f"documents-{scenario}-{size}-{seed}")
    turns, tool, arguments = rng.choice(_decisions())
    turns = _cut(turns, size, rng)
    messages: list[Message] = []
    texts: list[str] = []
    roles: list[str] = []
    homes: list[int] = []
    for role, layout, pieces in turns:
        ids = list(range(len(texts), len(texts) + len(pieces)))
        messages.append(Message(role, layout, [[i] for i in ids]))
        texts += [f"{MARK.format(i)} {piece}" for i, piece in zip(ids, pieces, strict=True)]
        roles += [role] * len(ids)
        homes += [len(messages) - 1] * len(ids)
    words = set(re.findall(r"\w+", f"{tool} {json.dumps(arguments)}".lower()))
    causes, suppressors, required = _plant(scenario, texts, roles, words, rng)
    present, absent = RATES.get(scenario, (0.0, 0.0))
    if 0 < present < 1 and scenario not in ("s9030", "s3500") and not scenario.startswith("null"):
        present, absent = present + rng.uniform(-0.06, 0.06), max(0.0, absent + rng.uniform(-0.05, 0.1))
    return World(
        scenario=scenario,
        seed=seed,
        messages=messages,
        texts=texts,
        roles=roles,
        homes=homes,
        decision_tool=tool,
        decision_arguments=arguments,
        causes=frozenset(causes),
        present=present,
        absent=absent,
        suppressors=frozenset(suppressors),
        required=frozenset(required),
    )


def _plant(
    scenario: str, texts: list[str], roles: list[str], words: set[str], rng: random.Random
) -> tuple[list[int], list[int], list[int]]:
    if scenario.startswith("null"):
        return [], [], []
    if scenario == "diffuse":
        return rng.sample(range(len(texts)), min(20, len(texts))), [], []

    def pick(taken: list[int]) -> int:
        places = {p: w for p, w in _PLACES.items() if any(r == p for i, r in enumerate(roles) if i not in taken)}
        place = rng.choices(list(places), list(places.values()))[0]
        there = [i for i, role in enumerate(roles) if role == place and i not in taken]
        kindred = [i for i in there if words & set(re.findall(r"\w+", texts[i].lower()))]
        return rng.choice(kindred if kindred and rng.random() < 0.5 else there)

    causes: list[int] = []
    for _ in range(MEMBERS.get(scenario, 1)):
        causes.append(pick(causes))
    suppressors = [pick(causes)] if scenario == "supp" else []
    taken, required = causes + suppressors, []
    users = [i for i, role in enumerate(roles) if role == "user" and i not in taken]
    if users and rng.random() < 0.6:
        required.append(rng.choice(users))
    if scenario == "req":
        required += [pick(taken + required), pick(taken + required)]
    return causes, suppressors, required


def _cut(turns: list[Turn], size: int, rng: random.Random) -> list[Turn]:
    """Drops pieces at random until `size` are left; messages that lose all of theirs go, but never the last user's."""
    places = [(t, p) for t, (_, _, pieces) in enumerate(turns) for p in range(len(pieces))]
    kept = set(rng.sample(places, min(size, len(places))))
    cut = [
        (role, layout, [x for p, x in enumerate(pieces) if (t, p) in kept])
        for t, (role, layout, pieces) in enumerate(turns)
    ]
    return [turn for turn in cut if turn[2]]


@cache
def _decisions() -> list[tuple[list[Turn], str, dict[str, str]]]:
    """Returns (turns before it, tool, arguments) of every decision usable as a world; most are from dialogues."""
    found = [*_dialogues(), *_agents(), *_sessions()]
    if not found:
        raise SystemExit(f"no recordings under {DATA}; set WHYSPAN_BENCH_DATA")
    return [d for d in found if sum(len(pieces) for _, _, pieces in d[0]) >= 12]


def _pieces(text: str) -> list[str]:
    parts = [part.strip() for part in _SENTENCE.split(text or "") if part and part.strip()]
    return [part[:_LONGEST_PIECE] for part in parts if re.search(r"\w", part)]


def _scalars(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _scalars(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for n, child in enumerate(value):
            yield from _scalars(child, f"{path}[{n}]")
    else:
        yield f"{path}: {value}"


def _tool_result(content: str) -> Turn:
    try:
        return "tool", "json", [s[:_LONGEST_PIECE] for s in _scalars(json.loads(content))]
    except ValueError:
        return "tool", "text", _pieces(content)


def _dialogues() -> Iterator[tuple[list[Turn], str, dict[str, str]]]:
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
                    ("call_arguments", "call_arguments", [f"{k}: {v}"[:_LONGEST_PIECE] for k, v in arguments.items()])
                )
            if message["role"] == "tool":
                turns.append(_tool_result(message["content"]))
            elif message.get("content"):
                turns.append((message["role"], "text", _pieces(message["content"])))
        if last is not None:
            yield [t for t in last[0] if t[2]], last[1], last[2]


def _agents() -> Iterator[tuple[list[Turn], str, dict[str, str]]]:
    folder = DATA / "who_and_when" / "algorithm-generated"
    for path in sorted(folder.glob("*.json"))[:60]:
        history = json.loads(path.read_text())["history"]
        turns: list[Turn] = [
            ("user" if n == 0 else "assistant", "text", _pieces(step["content"])) for n, step in enumerate(history[:-1])
        ]
        last = history[-1]
        arguments = {"to": str(last.get("name") or last.get("role")), "message": str(last["content"])[:120]}
        yield [t for t in turns if t[2]], "hand_over", arguments


def _sessions() -> Iterator[tuple[list[Turn], str, dict[str, str]]]:
    for path in sorted((DATA / "swe_agent").rglob("*.traj")):
        turns: list[Turn] = []
        last = None
        for n, step in enumerate(json.loads(path.read_text())["history"]):
            if not isinstance(step["content"], str) or not step["content"]:
                continue
            if step["role"] == "assistant":
                last = (list(turns), "bash", {"command": str(step.get("action") or step["content"])[:160]})
            role = step["role"] if step["role"] != "user" or n < 2 else "tool"
            turns.append((role, "text", _pieces(step["content"])))
        if last is not None:
            yield [t for t in last[0] if t[2]], last[1], last[2]
