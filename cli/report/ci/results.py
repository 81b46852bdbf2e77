"""The results of a CI run: tests with their checks, and claims. Every artefact is made of them.

They are plain JSON values inside, because they come from three sides: from pytest's workers, from the store, and from
the `claims.json` that an earlier step of a pipeline has written.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .... import __version__
from ....ingest.calls import Json
from ....ingest.errors import FormatError

SCHEMA_VERSION = 1
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test that checked an agent's decision."""

    __test__ = False  # no test for pytest to collect

    name: str
    """pytest's node id."""
    file: str
    """Path from the project's root."""
    line: int
    """From 1."""
    outcome: str
    """`passed`, `failed` or `skipped`."""
    duration_s: float
    message: str
    """What pytest showed of a failure; empty when it passed."""
    checks: tuple[Document, ...]
    """As `Check.to_json` gives them."""

    @property
    def status(self) -> str:
        """The status to show: that of the first check that did not pass, else pytest's outcome."""
        return next((str(c["status"]) for c in self.checks if c["status"] != "passed"), self.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class CiResults:
    """Everything that the artefacts show."""

    title: str
    created_at: str
    """ISO 8601, UTC."""
    tests: tuple[TestResult, ...] = ()
    claims: tuple[Document, ...] = ()
    """As `Claim.to_json` gives them."""
    prompt_path: str = ""
    """The file with the agent's system prompt, where it is known for all of them."""

    @property
    def failures(self) -> tuple[TestResult, ...]:
        """The tests that failed."""
        return tuple(t for t in self.tests if t.outcome == "failed")

    @property
    def draws(self) -> int:
        """Replays that the tests of this run have made."""
        return sum(int(c["draws"]) for t in self.tests for c in t.checks if c["mode"] == "live")

    @property
    def cost_usd(self) -> float | None:
        """What they cost; None when no price is known."""
        costs = [c["cost_usd"] for t in self.tests for c in t.checks if c["cost_usd"] is not None]
        return sum(costs) if costs else None

    def to_json(self) -> dict[str, Json]:
        """Returns the document of `claims.json`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "created_with": f"whyspan {__version__}",
            "title": self.title,
            "created_at": self.created_at,
            "prompt_path": self.prompt_path,
            "tests": [asdict(t) for t in self.tests],
            "claims": list(self.claims),
        }


def read_results(path: Path) -> CiResults:
    """Reads `claims.json`, or the one in a folder; FormatError says what is wrong with it."""
    file = path / "claims.json" if path.is_dir() else path
    try:
        value = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(
            f"{file} cannot be read: {error}", hint="`pytest --whyspan-report DIR` and `whyspan export ci` write it"
        ) from error
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        raise FormatError(f"{file} is not a claims.json of schema version {SCHEMA_VERSION}")
    try:
        return CiResults(
            title=value["title"],
            created_at=value["created_at"],
            prompt_path=value["prompt_path"],
            tests=tuple(_test(t) for t in value["tests"]),
            claims=tuple(value["claims"]),
        )
    except (KeyError, TypeError) as error:
        raise FormatError(f"{file} is damaged: {error}") from error


def _test(value: Mapping[str, Any]) -> TestResult:
    return TestResult(**{**value, "checks": tuple(value["checks"])})


def status_counts(tests: Sequence[TestResult]) -> dict[str, int]:
    """Returns how many tests have each status, the ones to look at first."""
    order = ("failed", "stale", "unverified", "inconclusive", "skipped", "passed")
    found = [t.status for t in tests]
    return {s: found.count(s) for s in order if s in found}
