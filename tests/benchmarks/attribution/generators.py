"""The generators of worlds by name, for both tools."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.attribution import attacked, documents, measured, synthetic
from tests.benchmarks.attribution.world import World

GENERATORS: dict[str, Callable[[str, int, int], World]] = {
    "synthetic": synthetic.build,
    "documents": documents.build,
    "agentdojo": attacked.build,
    "measured": measured.build,
}
"""Scenario, number of leaves, seed → world."""
