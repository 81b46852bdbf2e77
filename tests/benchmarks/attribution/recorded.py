"""Worlds made of recorded turns: cut to a size, roles and texts as they were, causes planted on real pieces."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from tests.benchmarks.attribution.world import MARK, MEMBERS, RATES, Message, World

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(*-])|\n+")
LONGEST_PIECE = 400
Turn = tuple[str, str, list[str]]
"""Role, layout, texts of the pieces."""
Decision = tuple[list[Turn], str, dict[str, str]]
"""The turns before it, the tool, the arguments."""


@dataclass
class Pieces:
    """The leaves of a world that is being made."""

    messages: list[Message] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    homes: list[int] = field(default_factory=list)

    def add(self, turn: Turn) -> None:
        """Adds a message, each of its pieces with a mark of its own."""
        role, layout, pieces = turn
        ids = list(range(len(self.texts), len(self.texts) + len(pieces)))
        self.messages.append(Message(role, layout, [[i] for i in ids]))
        self.texts += [f"{MARK.format(i)} {piece}" for i, piece in zip(ids, pieces, strict=True)]
        self.roles += [role] * len(ids)
        self.homes += [len(self.messages) - 1] * len(ids)


Pick = Callable[[Pieces, list[int]], int]
"""Chooses a piece for a cause, a suppressor or a required input; gets those that are taken."""


def assemble(scenario: str, seed: int, decision: Decision, pick: Pick, rng: random.Random) -> World:
    """Returns the world of a decision, with causes, suppressors and required inputs where `pick` says."""
    turns, tool, arguments = decision
    pieces = Pieces()
    for turn in turns:
        pieces.add(turn)
    causes, suppressors, required = _plant(scenario, pieces, pick, rng)
    present, absent = RATES.get(scenario, (0.0, 0.0))
    if 0 < present < 1 and scenario not in ("s9030", "s3500") and not scenario.startswith("null"):
        present, absent = present + rng.uniform(-0.06, 0.06), max(0.0, absent + rng.uniform(-0.05, 0.1))
    return World(
        scenario=scenario,
        seed=seed,
        messages=pieces.messages,
        texts=pieces.texts,
        roles=pieces.roles,
        homes=pieces.homes,
        decision_tool=tool,
        decision_arguments=arguments,
        causes=frozenset(causes),
        present=present,
        absent=absent,
        suppressors=frozenset(suppressors),
        required=frozenset(required),
    )


def _plant(scenario: str, pieces: Pieces, pick: Pick, rng: random.Random) -> tuple[list[int], list[int], list[int]]:
    if scenario.startswith("null"):
        return [], [], []
    if scenario == "diffuse":
        count = len(pieces.texts)
        return rng.sample(range(count), min(20, count)), [], []
    causes: list[int] = []
    for _ in range(MEMBERS.get(scenario, 1)):
        causes.append(pick(pieces, causes))
    suppressors = [pick(pieces, causes)] if scenario == "supp" else []
    taken, required = causes + suppressors, []
    users = [i for i, role in enumerate(pieces.roles) if role == "user" and i not in taken]
    if users and rng.random() < 0.6:
        required.append(rng.choice(users))
    if scenario == "req":
        required += [pick(pieces, taken + required), pick(pieces, taken + required)]
    return causes, suppressors, required


def cut(turns: list[Turn], size: int, rng: random.Random, *, kept: AbstractSet[str] = frozenset()) -> list[Turn]:
    """Drops pieces at random until `size` are left, `kept` ones last; messages that lose all of theirs go."""
    places = [(t, p) for t, (_, _, pieces) in enumerate(turns) for p in range(len(pieces))]
    certain = [(t, p) for t, p in places if turns[t][2][p] in kept][:size]
    free = [place for place in places if place not in certain]
    left = {*certain, *rng.sample(free, min(size - len(certain), len(free)))}
    fewer = [
        (role, layout, [x for p, x in enumerate(pieces) if (t, p) in left])
        for t, (role, layout, pieces) in enumerate(turns)
    ]
    return [turn for turn in fewer if turn[2]]


def pieces_of(text: str) -> list[str]:
    """Returns the sentences and lines of a text."""
    parts = [part.strip() for part in _SENTENCE.split(text or "") if part and part.strip()]
    return [part[:LONGEST_PIECE] for part in parts if re.search(r"\w", part)]


def scalars(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields path and text of every scalar in a JSON value."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from scalars(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for n, child in enumerate(value):
            yield from scalars(child, f"{path}[{n}]")
    else:
        yield path, str(value)


def tool_result(content: str) -> Turn:
    """Returns the turn of a tool's result, its scalars where it is JSON."""
    try:
        return "tool", "json", [f"{path}: {text}"[:LONGEST_PIECE] for path, text in scalars(json.loads(content))]
    except ValueError:
        return "tool", "text", pieces_of(content)
