"""Plays the core of `why` against exact probabilities of a real small model, on decisions that were made to tune it.

    python -m tests.benchmarks.attribution.tuning --url http://127.0.0.1:8911/v1 --seeds 0:4

docs/local-model.md serves the model. The 40 decisions are apart from the 18 of `real_model.py`, which stay a judge that
nothing was fitted to. Outcomes are drawn from the probability of the decision without the removed pieces, which one
request for one token tells: in JSON, the token after a reply begun up to it. (`forced_odds` asks for many alternatives
of every token before it, and lets the model lay the JSON out.) `--probabilities` keeps what was told for the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeAlias

from tests.benchmarks.attribution.real_model import case_of, judge, named_by, pieces_of
from tests.benchmarks.attribution.run import drive
from tests.benchmarks.attribution.tables import percentile
from whyspan.analysis.attribution.attribute import attribute
from whyspan.analysis.attribution.problem import Options, Outcome, Role
from whyspan.analysis.canonical import digest
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.drawing import SAMPLES_PER_CALL
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.logprobs import choice_of
from whyspan.analysis.replay.models import choose_model
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.segments import segment
from whyspan.ingest.calls import Body

DECISIONS = Path(__file__).parents[2] / "fixtures" / "realmodel" / "tuning.json"
PLACES = {Role.USER: "the user's message", Role.TOOL: "a tool's result"}
WIDTHS = (60, 3000)
"""Alternatives of the deciding token asked for: few, then many where an option is not among the few."""
MISSING_SHARE = 0.01
"""Most that options which are not listed may weigh, all together."""
CALLS = 1_000_000
"""More than a run can ask for."""

Row: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[Body], float]
"""Edited request → probability of the decision."""


class Memory:
    """Digest of a question → probability of its decision, in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self._known: dict[str, float] = dict(json.loads(line) for line in lines)

    def recall(self, key: str, ask: Callable[[], float]) -> float:
        """Returns what is known, and otherwise asks and remembers."""
        if key not in self._known:
            self._known[key] = ask()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]


@dataclass(frozen=True, kw_only=True)
class Predicate:
    """The decision as the one token that makes it: which of the options that token begins."""

    value: str
    options: tuple[str, ...]
    """All begin with different tokens."""
    field: str | None
    """The field of a JSON reply that it is the value of; None when it is the reply's first word."""
    temperature: float

    def question(self, request: Body) -> Body:
        """Returns the request for that token; a JSON reply is begun up to it."""
        begun = [{"role": "assistant", "content": f'{{"{self.field}": "'}] if self.field else []
        return {
            **{name: value for name, value in request.items() if name != "response_format"},
            "messages": [*request["messages"], *begun],
            "grammar": "root ::= " + " | ".join(map(json.dumps, self.options)),
            "temperature": 0,
            "logprobs": True,
            "max_tokens": 1,
        }

    def probability(self, alternatives: Sequence[Mapping[str, Any]]) -> tuple[float, bool]:
        """Returns the share of the value among the options, and whether all options that matter are listed.

        An option that is not listed is less likely than the last alternative that is.
        """
        weights = dict.fromkeys(self.options, 0.0)
        for alternative in alternatives:
            begun = [o for o in self.options if alternative["token"] and o.startswith(alternative["token"])]
            if len(begun) == 1:
                weights[begun[0]] += math.exp(alternative["logprob"] / self.temperature)
        total = sum(weights.values())
        last = min((a["logprob"] for a in alternatives), default=0.0)
        missing = list(weights.values()).count(0.0) * math.exp(last / self.temperature)
        return (weights[self.value] / total if total else 0.0), missing <= MISSING_SHARE * total


def predicate_of(measured: dict[str, Any]) -> Predicate:
    """Returns what a decision's one token has to be."""
    request, choice = measured["request"], choice_of(measured["request"])
    assert choice is not None, measured["id"]
    wanted = measured["predicate"]
    return Predicate(
        value=wanted["value"], options=choice.options, field=wanted.get("field"), temperature=request["temperature"]
    )


async def probability(engine: ReplayEngine, predicate: Predicate, request: Body) -> float:
    """Returns the probability of the decision; an option that even the longer list lacks is taken as impossible."""
    found = 0.0
    for width in WIDTHS:
        completion = await engine.ask({**predicate.question(request), "top_logprobs": width})
        if completion is None or not completion.logprobs:
            raise SystemExit("the server gives no log-probabilities")
        found, is_sure = predicate.probability(completion.logprobs[0]["top_logprobs"])
        if is_sure:
            break
    return found


def play(measured: dict[str, Any], seed: int, ask: Ask, samples_per_call: int) -> Row:
    """Plays the core on a decision with the draws of one seed, and returns the line of its results."""
    options = Options(budget=Options().budget * samples_per_call, samples_per_call=samples_per_call)
    case = case_of(measured)
    cut = segment(case.api, case.request)
    leaves = cut.leaves()
    roles = {group: piece["role"] for group, piece in pieces_of(measured, cut).items()}
    rng = random.Random(f"{measured['id']}-{seed}")

    def outcome(removal: frozenset[int]) -> Outcome:
        return Outcome.TARGET if rng.random() < ask(cut.without(removal)) else Outcome.OTHER

    result = drive(attribute(leaves, measured["predicate"]["value"], options), outcome)
    place = next(PLACES[leaves[group].role] for group, role in roles.items() if role == "planted")
    named = named_by(result)
    if samples_per_call > 1:
        named = replace(named, calls=len(result.tested) + 1)
    return {"id": measured["id"], "seed": seed, "place": place, **judge(named, roles)}


def rows_of(measured: dict[str, Any], seeds: range, url: str, memory: Memory, samples_per_call: int) -> Iterator[Row]:
    """Yields the results of a decision, a seed a line."""
    predicate = predicate_of(measured)
    # One loop for all questions: the provider's connections belong to the loop that opened them.
    with asyncio.Runner() as runner:
        provider = choose_model(base_url=url).open(case_of(measured))
        engine = ReplayEngine(provider, SqliteReplyStore(None), Budget(CALLS), concurrency=1)

        def ask(request: Body) -> float:
            key = digest({"url": url, "value": predicate.value, "question": predicate.question(request)})
            return memory.recall(key, lambda: runner.run(probability(engine, predicate, request)))

        try:
            for seed in seeds:
                yield play(measured, seed, ask, samples_per_call)
        finally:
            runner.run(provider.aclose())


def render(rows: Sequence[Row]) -> Iterator[str]:
    """Yields the table, a line for each place of the document and one for all."""
    columns = "runs | planted leads | planted first of the document | no answer | calls median / mean / p95"
    yield f"| document in | {columns} |"
    yield "|---|---|---|---|---|---|"
    places = {place: [r for r in rows if r["place"] == place] for place in PLACES.values()}
    for name, group in {**places, "either": rows}.items():
        if group:
            calls = [r["calls"] for r in group]
            yield (
                f"| {name} | {len(group)} | {mean(r['is_planted'] for r in group):.3f} "
                f"| {mean(r['is_planted_in_context'] for r in group):.3f} "
                f"| {mean(not r['headline'] for r in group):.3f} "
                f"| {median(calls):.0f} / {mean(calls):.1f} / {percentile(calls, 0.95):.0f} |"
            )


def main() -> None:
    """Parses the command line, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--seeds", default="0:4", help="FIRST:LAST, the last one excluded")
    parser.add_argument("--logprobs", action="store_true", help="many samples a call, and calls are requests")
    parser.add_argument("--only", default="", help="decisions whose id holds this")
    parser.add_argument("--probabilities", type=Path, default=Path("tuning-probabilities.jsonl"))
    args = parser.parse_args()
    samples_per_call = SAMPLES_PER_CALL if args.logprobs else 1
    seeds, memory = range(*map(int, args.seeds.split(":"))), Memory(args.probabilities)
    rows = []
    for measured in json.loads(DECISIONS.read_text("utf-8")):
        for result in (
            rows_of(measured, seeds, args.url, memory, samples_per_call) if args.only in measured["id"] else ()
        ):
            rows.append(result)
            sys.stdout.write(json.dumps(result) + "\n")
            sys.stdout.flush()
    sys.stdout.write("\n".join(render(rows)) + "\n")


if __name__ == "__main__":
    main()
