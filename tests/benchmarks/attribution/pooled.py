"""How often `investigate` claims something of several simulated decisions that share their texts.

    python -m tests.benchmarks.attribution.pooled --investigations 100

In each decision one text, the same in all, changes the rate; in a null none does. Counts investigations with a claim
about that text, and with a claim about any other (false), and decisions that show the text by themselves.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

from tests.benchmarks.attribution.run import drive
from whyspan.analysis.attribution.attribute import attribute
from whyspan.analysis.attribution.problem import Leaf, Options, Outcome, Role
from whyspan.analysis.investigation.pooling import Attempt, CaseEvidence, Family, pool

TEXTS = 12
SCENES = {"null 0.35": (0.35, 0.35), "null 0.6": (0.6, 0.6), "null 0.9": (0.9, 0.9), "0.9 to 0.1": (0.9, 0.1),
          "0.6 to 0.3": (0.6, 0.3)}  # fmt: skip
"""Rate with the text and without it."""


def evidence(rates: tuple[float, float], seed: int) -> CaseEvidence:
    """Explains one decision whose first text matters, and returns what `investigate` takes from it."""
    rng = random.Random(seed)
    leaves = [Leaf(text=f"text {n}", message=n // 4, role=Role.TOOL) for n in range(TEXTS)]

    def outcome(removed: frozenset[int]) -> Outcome:
        return Outcome.TARGET if rng.random() < rates[0 in removed] else Outcome.OTHER

    result = drive(attribute(leaves, "forward", Options(seed=seed)), outcome)
    claimed = {claim.removal for claim in result.claims}
    return CaseEvidence(
        texts=frozenset(leaf.text for leaf in leaves),
        places=frozenset(["results"]),
        baseline=result.baseline,
        attempts=tuple(
            Attempt(
                text=f"text {min(n.removal)}" if len(n.removal) == 1 else "",
                place="results",
                tally=n.tally,
                log_e=n.log_e,
                is_claimed=n.removal in claimed,
            )
            for n in result.nominated
        ),
    )


def lines(investigations: int, cases: int) -> Iterator[str]:
    """Yields the table."""
    yield "| rate with, without the text | decisions | claimed | another text claimed | place claimed | shown alone |"
    yield "|---|---|---|---|---|---|"
    for name, rates in SCENES.items():
        claimed = other = place = alone = 0
        for n in range(investigations):
            found = [evidence(rates, cases * n + k) for k in range(cases)]
            supported = {(p.family, p.name) for p in pool(found, alpha=0.05) if p.is_supported}
            claimed += (Family.TEXT, "text 0") in supported
            other += any(family is Family.TEXT and text != "text 0" for family, text in supported)
            place += any(family is Family.PLACE for family, _ in supported)
            alone += sum(any(a.is_claimed and a.text == "text 0" for a in case.attempts) for case in found)
        shares = (claimed / investigations, other / investigations, place / investigations)
        cells = [f"{share:.3f}" for share in (*shares, alone / investigations / cases)]
        yield f"| {name} | {cases} | {' | '.join(cells)} |"


def main() -> None:
    """Parses the command line, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--investigations", type=int, default=100)
    parser.add_argument("--cases", type=int, default=4)
    args = parser.parse_args()
    for line in lines(args.investigations, args.cases):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
