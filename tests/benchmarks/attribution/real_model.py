"""Explains decisions of a real small model whose single-piece effects were measured, at a server that runs it.

    python -m tests.benchmarks.attribution.real_model --url http://127.0.0.1:8911/v1 --methods why,loo

docs/local-model.md serves the model. Each of the 18 decisions has one planted sentence among *context* pieces (the
document), beside *scaffolding* (system prompt, question). What a method names instead of it is judged by the measured
probability without that piece. Replies are kept in `--replies`, so a run can be continued.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from whyspan.analysis.attribution.methods import Method
from whyspan.analysis.attribution.methods.scoring import score
from whyspan.analysis.attribution.problem import Options
from whyspan.analysis.attribution.result import Attribution
from whyspan.analysis.attribution.why import explain
from whyspan.analysis.cases import Case
from whyspan.analysis.experiment import STREAMS, Experiment
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.drawing import ChoiceSampler
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.models import choose_model
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.segments import Segmentation, fold, segment
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api

EFFECTS = Path(__file__).parents[2] / "fixtures" / "realmodel" / "effects.json"
BUDGET = 300
CONTEXT = ("context", "planted")


@dataclass
class Named:
    """What a method answers."""

    head: frozenset[int] | None
    """The groups that it leads with."""
    ranked: list[frozenset[int]]
    """Everything it names, the strongest first."""
    calls: int


def case_of(measured: dict[str, Any]) -> Case:
    """Returns the decision as a case."""
    predicate = measured["predicate"]
    pattern = {
        "first_word": rf"(?i)^\W*{predicate['value']}\b",
        "json_field": rf'"{predicate.get("field")}"\s*:\s*"{predicate["value"]}"',
        "contains": predicate["value"].replace("/", r"\/"),
    }[predicate["type"]]
    return Case(api=Api.OPENAI_CHAT, request=measured["request"], target=parse_target(f"text:/{pattern}/"))


def pieces_of(measured: dict[str, Any], cut: Segmentation) -> dict[int, dict[str, Any]]:
    """Returns group → the measured piece that it is, or is part of."""
    found = {}
    for group in range(len(cut.groups)):
        said = cut.said(group)
        same = [p for p in measured["pieces"] if said in fold(p["text"]) or fold(p["text"]) in said]
        found[group] = max(same, key=lambda piece: fold(piece["text"]) == said)
    return found


def named_by(result: Attribution) -> Named:
    """Returns what an attribution answers."""
    ranked = sorted(result.claims, key=lambda claim: -claim.effect)
    head = result.headline.removal if result.headline else None
    return Named(head, [claim.removal for claim in ranked], result.draws)


def judge(named: Named, roles: Mapping[int, str]) -> dict[str, Any]:
    """Returns how an answer compares with the planted piece; `roles` tells what each group is."""
    in_context = next((r for r in named.ranked if all(roles[g] in CONTEXT for g in r)), None)
    return {
        "headline": sorted({roles[g] for g in named.head or ()}),
        "is_planted": bool(named.head) and {roles[g] for g in named.head or ()} == {"planted"},
        "is_planted_in_context": bool(in_context) and {roles[g] for g in in_context or ()} == {"planted"},
        "calls": named.calls,
    }


async def ask(experiment: Experiment, method: str) -> Named:
    """Runs a method."""
    if method == "why":
        named = named_by((await explain(experiment, Options())).attribution)
        return replace(named, calls=experiment.engine.budget.spent) if experiment.choices else named
    scores = (await score(experiment, Method(method))).scores
    head = None if scores.named is None else frozenset([scores.named])
    return Named(head, [frozenset([leaf]) for leaf in scores.ranked], scores.draws)


async def row(measured: dict[str, Any], method: str, args: argparse.Namespace) -> dict[str, Any]:
    """Runs a method on one decision and returns the line of its results."""
    case = case_of(measured)
    provider, replies = choose_model(base_url=args.url).open(case), SqliteReplyStore(args.replies)
    engine = ReplayEngine(provider, replies, Budget(BUDGET), concurrency=4)
    start = time.monotonic()
    try:
        choices = await ChoiceSampler.open(engine, case) if args.logprobs else None
        stream = args.stream if method == "why" else "score"
        named = await ask(Experiment(case=case, engine=engine, stream=stream, choices=choices), method)
    finally:
        await provider.aclose()
        replies.close()
    pieces = pieces_of(measured, segment(case.api, case.request))
    roles = {group: piece["role"] for group, piece in pieces.items()}
    drops = [measured["base"] - pieces[g]["without"] for g in named.head or ()]
    return {
        "id": measured["id"],
        "method": method,
        "base": measured["base"],
        **judge(named, roles),
        "headline_drop": drops[0] if len(drops) == 1 else None,
        "margin": max(0.2, measured["base"] / 3),
        "pieces": len(pieces),
        "seconds": time.monotonic() - start,
    }


def render(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yields the table, a line a method."""
    columns = "decisions | planted leads | planted first of the context | no answer | leads with less than the margin"
    yield f"| method | {columns} | calls median / mean |"
    yield "|---|---|---|---|---|---|---|"
    for method in dict.fromkeys(r["method"] for r in rows):
        group = [r for r in rows if r["method"] == method]
        small = sum(r["headline_drop"] is not None and r["headline_drop"] < r["margin"] for r in group)
        calls = [r["calls"] for r in group]
        yield (
            f"| {method} | {len(group)} | {sum(r['is_planted'] for r in group)} "
            f"| {sum(r['is_planted_in_context'] for r in group)} | {sum(not r['headline'] for r in group)} "
            f"| {small} | {median(calls):.0f} / {mean(calls):.1f} |"
        )


def main() -> None:
    """Parses the command line, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--methods", default="why", help=f"comma-separated: why, {', '.join(Method)}")
    parser.add_argument("--logprobs", action="store_true", help="why asks for probabilities where a choice is forced")
    parser.add_argument("--stream", default="why", choices=STREAMS, help="another one gives why other samples")
    parser.add_argument("--only", default="", help="decisions whose id holds this")
    parser.add_argument("--replies", type=Path, default=Path("real-model-replies.sqlite"))
    args = parser.parse_args()
    rows = []
    for measured in json.loads(EFFECTS.read_text("utf-8")):
        for method in args.methods.split(",") if args.only in measured["id"] else ():
            rows.append(asyncio.run(row(measured, method, args)))
            sys.stdout.write(json.dumps(rows[-1]) + "\n")
            sys.stdout.flush()
    sys.stdout.write("\n".join(render(rows)) + "\n")


if __name__ == "__main__":
    main()
