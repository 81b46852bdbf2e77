"""Generator 1: made-up words in system prompt, user task, tool results (text or JSON lists) and assistant turns.

Causes sit in tool results (85 %), else in an assistant turn or the system prompt. Three quarters of them share words
with the decision; so do some innocent leaves and two strong decoys. One user sentence is always required.
"""

from __future__ import annotations

import math
import random

from tests.benchmarks.attribution.world import MARK, MEMBERS, RATES, Message, World

_VOCABULARY = [f"w{i:03d}" for i in range(600)]
_TOOL = "forward_email"
_ARGUMENTS = {"to": "billing-desk@ext-mail.example", "subject": "invoice 4471 overdue notice"}
_WORDS = ["forward", "invoice", "4471", "overdue", "notice", "billing-desk", "subject"]
_PHRASES = ["invoice 4471", "4471 overdue", "overdue notice"]


def build(scenario: str, size: int, seed: int) -> World:
    """Returns a world of `size` leaves; equal arguments give equal worlds."""
    rng = random.Random(f"synthetic-{scenario}-{size}-{seed}")
    messages = _layout(size, rng)
    homes = [m for m, message in enumerate(messages) for group in message.groups for _ in group]
    roles = [messages[m].role for m in homes]
    words = [[rng.choice(_VOCABULARY) for _ in range(rng.randint(7, 13))] for _ in homes]
    causes, suppressors, required = _plant(scenario, roles, homes, rng)
    _add_decision_words(words, causes, suppressors, required, rng)
    rates = RATES.get(scenario, (0.0, 0.0))
    return World(
        scenario=scenario,
        seed=seed,
        messages=messages,
        texts=[f"{MARK.format(i)} {' '.join(w)}." for i, w in enumerate(words)],
        roles=roles,
        homes=homes,
        decision_tool=_TOOL,
        decision_arguments=_ARGUMENTS,
        causes=frozenset(causes),
        present=rates[0],
        absent=rates[1],
        suppressors=frozenset(suppressors),
        required=frozenset(required),
    )


def _layout(size: int, rng: random.Random) -> list[Message]:
    system, user = max(1, min(12, size // 10)), 1 if size < 20 else 2
    left = size - system - user
    count = max(2, min(14, round(math.sqrt(size)) - 1))
    cuts = sorted(rng.sample(range(1, left), min(count, left) - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, left], strict=True)]
    messages = [Message("system", "text"), Message("user", "text")]
    for k in sizes:
        role = "tool" if len(messages) == 2 or rng.random() < 0.8 else "assistant"
        messages.append(Message(role, "json" if role == "tool" and k >= 3 and rng.random() < 0.45 else "text"))
    start = 0
    for message, k in zip(messages, [system, user, *sizes], strict=True):
        while k > 0:
            group = min(k, rng.choice([1, 2, 2, 3, 4]))
            message.groups.append(list(range(start, start + group)))
            start, k = start + group, k - group
    return messages


def _plant(
    scenario: str, roles: list[str], homes: list[int], rng: random.Random
) -> tuple[list[int], list[int], list[int]]:
    read = [i for i, role in enumerate(roles) if role == "tool"]
    written = [i for i, role in enumerate(roles) if role in ("tool", "assistant")]
    system = [i for i, role in enumerate(roles) if role == "system"]
    task = roles.index("user")
    if scenario.startswith("null"):
        return [], [], []
    if scenario == "diffuse":
        return rng.sample(written, min(20, len(written))), [], [task]
    members = MEMBERS.get(scenario, 1)
    pool = read
    if scenario not in ("supp", "req") and rng.random() >= 0.85:
        pool = system if members == 1 and rng.random() < 0.5 else written
    if pool is not system and len(pool) < members + 4:
        pool = written
    causes = rng.sample(pool, members)
    free = [i for i in read if i not in causes] or [i for i in written if i not in causes]
    suppressors, required = [], [task]
    if scenario == "supp":
        near = [i for i in free if homes[i] == homes[causes[0]]]
        suppressors = [rng.choice(near if near and rng.random() < 0.6 else free)]
    if scenario == "req":
        required += rng.sample(free, min(2, len(free)))
    return causes, suppressors, required


def _add_decision_words(
    words: list[list[str]], causes: list[int], suppressors: list[int], required: list[int], rng: random.Random
) -> None:
    def add(leaf: int, times: int) -> None:
        for _ in range(times):
            words[leaf].insert(rng.randrange(len(words[leaf])), rng.choice(_PHRASES if rng.random() < 0.5 else _WORDS))

    for leaves, chance, most in ((causes, 0.75, 4), (required, 0.7, 3), (suppressors, 0.5, 3)):
        for leaf in leaves:
            if rng.random() < chance:
                add(leaf, rng.randint(1, most))
    innocent = [i for i in range(len(words)) if i not in causes and i not in required]
    for leaf in innocent:
        if rng.random() < 0.08:
            add(leaf, rng.randint(1, 4))
    for leaf in rng.sample(innocent, min(2, len(innocent))):
        add(leaf, rng.randint(2, 4))
