"""Follows causes through recorded traces of simulated agents whose true chain is known, and prints tables.

PYTHONPATH=tests/support python -m tests.benchmarks.attribution.chains --seeds 20000:20100
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import mean, median
from typing import Any

from chain_worlds import World

from tests.benchmarks.attribution.tables import percentile
from whyspan.analysis.attribution.chain import Chain, find_chain
from whyspan.analysis.attribution.problem import Options
from whyspan.analysis.desk import open_desk
from whyspan.ingest.store import Store

SCENARIOS = ("plan", "agents", "words", "services")
BUDGET = 1000
_COLUMNS = (
    "scenario",
    "runs",
    "full chain",
    "origin",
    "false link",
    "false origin",
    "replays median / mean / p95",
    "of the decision alone",
    "ends",
    "CPU s",
)
Row = dict[str, Any]


def row(world: World) -> Row:
    """Records a world into a store of its own, follows its decision back, and returns the line of its results."""
    trace_id, spans = world.record()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "store")
        with Store.create(path) as store:
            store.write(spans)
        start = time.process_time()
        with open_desk(store=path, model_fn=world.model(), budget=BUDGET) as desk:
            report = asyncio.run(find_chain(desk, desk.case(trace_id, world.event), Options()))
        seconds = time.process_time() - start
    chain = report.chain
    return {
        "scenario": f"{world.name}{', text regardless' if world.regardless else ''}",
        "seed": world.seed,
        "replays": chain.paid if chain else report.paid,
        "first": report.paid,
        "end": chain.end.value if chain else "no cause",
        "seconds": seconds,
        **(score(chain, world) if chain else {"full": False, "origin": False, "false_link": False, "false": False}),
    }


def score(chain: Chain, world: World) -> dict[str, bool]:
    """Returns what is right and wrong about a chain.

    Without an effect of the document the whole chain is what leads to it, and an origin is false whatever it is.
    """
    true = world.links - world.regardless
    pieces = [link.piece.text for link in chain.links]
    found = chain.origin.piece.text if chain.origin else None
    planted = None if world.regardless else world.planted
    document = world.document()
    is_right = [world.value in p and (p not in document or p == planted) for p in pieces[:true]]
    return {
        "full": len(pieces) == true and all(is_right) and found == planted,
        "origin": found == planted,
        "false_link": len(pieces) > true or not all(is_right),
        "false": found is not None and found != planted,
    }


def rows_of(scenarios: Sequence[str], seeds: range, rate: float) -> Iterator[Row]:
    """Yields the results of every scenario, with an effect of the document and without."""
    for name in scenarios:
        for regardless in (False, True):
            for seed in seeds:
                yield row(World(name, seed, regardless, rate))


def render(rows: Sequence[Row]) -> str:
    """Returns the results as a Markdown table."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    for scenario in dict.fromkeys(r["scenario"] for r in rows):
        group = [r for r in rows if r["scenario"] == scenario]
        shares = " | ".join(
            f"{mean(bool(r[key]) for r in group):.3f}" for key in ("full", "origin", "false_link", "false")
        )
        calls = [float(r["replays"]) for r in group]
        spent = f"{median(calls):.0f} / {mean(calls):.1f} / {percentile(calls, 0.95):.0f}"
        ends = ", ".join(f"{end} {count}" for end, count in Counter(r["end"] for r in group).most_common())
        lines.append(
            f"| {scenario} | {len(group)} | {shares} | {spent} "
            f"| {median(r['first'] for r in group):.0f} | {ends} | {mean(r['seconds'] for r in group):.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Parses the command line, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--seeds", default="20000:20100", help="FIRST:LAST, the last one excluded")
    parser.add_argument("--rate", type=float, default=0.93, help="of each step when what leads to it is there")
    parser.add_argument("--out", type=Path, help="append the rows to this file as they come")
    args = parser.parse_args()
    first, last = map(int, args.seeds.split(":"))
    rows = []
    with args.out.open("a") if args.out else nullcontext() as file:
        for result in rows_of(args.scenarios.split(","), range(first, last), args.rate):
            rows.append(result)
            if file:
                file.write(json.dumps(result) + "\n")
                file.flush()
    sys.stdout.write(render(rows) + "\n")


if __name__ == "__main__":
    main()
