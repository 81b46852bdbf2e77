"""Runs whyspan's attribution (and, with --peer, runtape's) on simulated decisions and prints tables.

python tests/benchmarks/attribution/run.py --seeds 10000:10024
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tests.benchmarks.attribution.generators import GENERATORS
from tests.benchmarks.attribution.tables import render_tables
from tests.benchmarks.attribution.world import SCENARIOS, World, is_exact, is_hit
from whyspan.analysis.attribution.attribute import attribute
from whyspan.analysis.attribution.confirm import Docket, confirm
from whyspan.analysis.attribution.ledger import NOTHING, BudgetEnded, Ledger, Steps
from whyspan.analysis.attribution.methods.contextcite import contextcite
from whyspan.analysis.attribution.methods.leave_one_out import leave_one_out
from whyspan.analysis.attribution.problem import Leaf, Options, Outcome, Replies, Role, Round
from whyspan.analysis.attribution.result import Claim, Kind
from whyspan.analysis.replay.drawing import SAMPLES_PER_CALL

METHODS = ("why", "loo", "contextcite", "proof")
T = TypeVar("T")
FIRST_LOOK = 4
"""Baseline draws of why before it knows anything."""


def play(world: World, steps: Generator[Round, Replies, T]) -> tuple[T, float]:
    """Runs a procedure against the stand-in model; returns its result and the CPU seconds it took."""
    rng = random.Random(f"draws-{world.scenario}-{world.size}-{world.seed}")
    start = time.process_time()
    result = drive(steps, lambda removed: Outcome(world.outcome(removed, rng)))
    return result, time.process_time() - start


def drive(steps: Generator[Round, Replies, T], outcome: Callable[[frozenset[int]], Outcome]) -> T:
    """Answers the draws of a procedure until it returns."""
    order = next(steps)
    while True:
        replies = tuple(tuple(outcome(draw.removal) for _ in range(draw.count)) for draw in order)
        try:
            order = steps.send(replies)
        except StopIteration as end:
            result: T = end.value
            return result


def leaves_of(world: World) -> list[Leaf]:
    """Returns the leaves as the core takes them."""
    return [
        Leaf(text=text, message=home, role=Role(role))
        for text, home, role in zip(world.texts, world.homes, world.roles, strict=True)
    ]


def decision_of(world: World) -> str:
    """Returns the words of the decision."""
    return f"{world.decision_tool} {json.dumps(world.decision_arguments)}"


def guess_of(world: World, kind: str | None) -> frozenset[int]:
    """Returns what a model might have guessed: a true cause, or a piece at random that is none."""
    if kind is None or (kind == "right" and not world.causes):
        return frozenset()
    pool = world.causes if kind == "right" else set(range(world.size)) - world.causes
    return frozenset([random.Random(f"guess-{world.seed}").choice(sorted(pool))])


def row(world: World, options: Options, *, words: bool = True) -> dict[str, object]:
    """Runs one world and returns the line of its results; without `words` the decision shares none with any leaf."""
    result, seconds = play(world, attribute(leaves_of(world), decision_of(world) if words else "", options))
    claims = [claim.removal for claim in result.claims]
    head = result.headline.removal if result.headline else None
    at_headline = result.headline.at_draw if result.headline else result.draws
    is_told = options.samples_per_call > 1
    return {
        "calls": len(result.tested) + 1 if is_told else result.draws,
        "head_calls": len(result.tested) + 1 if is_told else at_headline,
        "rounds": result.rounds,
        "contexts": len(result.tested) + 1,
        "hit": is_hit(world, head),
        "named": head is not None,
        "exact": is_exact(world, claims),
        "claims": len(claims),
        "false": sum(world.effect(claim) < 0.02 for claim in claims),
        "kinds": [claim.kind.value for claim in result.claims],
        "stop": result.stop.value,
        "seconds": seconds,
    }


def score_row(world: World, method: str) -> dict[str, object]:
    """Runs another method on one world; what it names stands for a claim, though it is none."""
    leaves = leaves_of(world)
    steps = leave_one_out(leaves) if method == "loo" else contextcite(leaves, seed=world.seed)
    scores, seconds = play(world, steps)
    head = None if scores.named is None else frozenset([scores.named])
    return {
        "calls": scores.draws,
        "head_calls": scores.draws,
        "rounds": 1,
        "hit": is_hit(world, head),
        "named": head is not None,
        "exact": is_exact(world, [head] if head else []),
        "claims": int(head is not None),
        "false": int(head is not None and world.effect(head) < 0.02),
        "seconds": seconds,
    }


def proof_row(world: World) -> dict[str, object]:
    """Returns what the evidence alone takes on one world: its causes are known and only have to be proven."""
    ledger = Ledger(budget=Options().budget)
    docket = Docket(ledger=ledger, options=Options())
    causes = [world.causes] if world.scenario.startswith("or") else [frozenset([leaf]) for leaf in world.causes]
    claims, seconds = play(world, prove(docket, ledger, causes))
    return {
        "calls": ledger.draws,
        "head_calls": claims[0].at_draw if claims else ledger.draws,
        "rounds": ledger.rounds,
        "hit": is_hit(world, claims[0].removal if claims else None),
        "named": bool(claims),
        "exact": is_exact(world, [claim.removal for claim in claims]),
        "claims": len(claims),
        "false": 0,
        "seconds": seconds,
    }


def prove(docket: Docket, ledger: Ledger, causes: Sequence[frozenset[int]]) -> Steps[list[Claim]]:
    """Proves causes one after the other, after the same first look at the baseline that why takes."""
    claims: list[Claim] = []
    with suppress(BudgetEnded):
        yield from ledger.draw({NOTHING: FIRST_LOOK if causes else 0})
        for cause in causes:
            claim = yield from confirm(docket, ledger, cause, kind=Kind.PUSHES, aside={})
            claims += [claim] if claim else []
    return claims


def options_of(args: argparse.Namespace, world: World) -> Options:
    """Returns how why is run on a world."""
    options = Options(full=args.full, thorough=args.thorough, guess=guess_of(world, args.guess))
    if not args.logprobs:
        return options
    return replace(options, samples_per_call=SAMPLES_PER_CALL, budget=options.budget * SAMPLES_PER_CALL)


def rows_of(args: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yields the results of every world asked for, and those of the peer after them."""
    first, last = map(int, args.seeds.split(":"))
    for scenario in args.scenarios.split(","):
        for size in map(int, args.sizes.split(",")):
            for seed in range(first, last):
                world = GENERATORS[args.generator](scenario, size, seed)
                world.misfit = args.misfit
                options = options_of(args, world)
                key = {"generator": args.generator, "scenario": scenario, "size": size, "seed": seed}
                for method in args.methods.split(","):
                    if method == "why":
                        tool = f"whyspan, {args.guess} guess" if args.guess else "whyspan"
                        tool += ", no words" if args.no_words else ""
                        tool += ", told probabilities" if args.logprobs else ""
                        yield {**key, "tool": tool, **row(world, options, words=not args.no_words)}
                    elif method == "proof":
                        yield {**key, "tool": "proof of known causes", **proof_row(world)}
                    else:
                        yield {**key, "tool": method, **score_row(world, method)}
    if args.peer:
        cases = ("--generator", args.generator, "--scenarios", args.scenarios, "--sizes", args.sizes)
        command = (args.peer, "-m", "tests.benchmarks.attribution.peer", *cases, "--seeds", args.seeds)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as peer:
            for line in peer.stdout or ():
                yield json.loads(line)
        if peer.returncode:
            raise SystemExit(f"the peer failed with exit code {peer.returncode}")


def main() -> None:
    """Parses the command line, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generator", choices=GENERATORS, default="synthetic")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--sizes", default="10,30,100,400")
    parser.add_argument("--seeds", default="10000:10020", help="FIRST:LAST, the last one excluded")
    parser.add_argument("--peer", help="Python of an environment with runtape==0.5.0: runs it on the same worlds")
    parser.add_argument("--methods", default="why", help=f"comma-separated: {', '.join(METHODS)}")
    parser.add_argument("--guess", choices=["right", "wrong"], help="give why a guess to start from")
    parser.add_argument("--no-words", action="store_true", help="hide the words of the decision from why")
    parser.add_argument("--logprobs", action="store_true", help="one call gives many samples, and calls are requests")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--misfit", type=float, default=0.0, help="spread of a shift of the log-odds a removal")
    parser.add_argument("--out", type=Path, help="append the rows to this file as they come")
    parser.add_argument("--tables", type=Path, nargs="*", help="only print tables of these files")
    args = parser.parse_args()
    if args.tables:
        rows = [json.loads(line) for path in args.tables for line in path.read_text().splitlines()]
    else:
        rows = []
        with args.out.open("a") if args.out else nullcontext() as file:
            for result in rows_of(args):
                rows.append(result)
                if file:
                    file.write(json.dumps(result) + "\n")
                    file.flush()
    sys.stdout.write(render_tables(rows) + "\n")


if __name__ == "__main__":
    main()
