"""The shelf of queries: `.sql` files, each with a line of what it answers and its parameters.

    -- What each model cost, week by week.
    -- $weeks: weeks to look back [8]
    SELECT …

Those of the package are in `cli/queries`; users put theirs into `queries/` of the store or of the configuration folder.
A query of the user's own hides one of the same name.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..ingest.errors import FormatError, UsageError
from ..ingest.settings import nearest

BUILT_IN = Path(__file__).parent / "queries"
_PARAMETER = re.compile(r"-- \$(?P<name>\w+): (?P<help>.*?)(?: \[(?P<default>[^\]]*)\])?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A `$name` of a query."""

    name: str
    help: str
    default: str | None
    """None when it must be given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One file of the shelf."""

    name: str
    help: str
    parameters: tuple[Parameter, ...]
    sql: str
    is_own: bool
    """Of the user."""

    def bind(self, given: Mapping[str, str]) -> dict[str, str]:
        """Returns the value of each parameter. Raises UsageError for one that is unknown or missing."""
        known = [p.name for p in self.parameters]
        for name in given:
            if name not in known:
                hint = nearest(name, known) if known else "it has none"
                raise UsageError(f"the query {self.name!r} has no parameter {name!r}", hint=hint)
        missing = next((p for p in self.parameters if p.default is None and p.name not in given), None)
        if missing:
            raise UsageError(f"the query {self.name!r} needs {missing.name}: {missing.help}", hint=f"{missing.name}=…")
        return {p.name: given.get(p.name, p.default or "") for p in self.parameters}


def load_shelf(store: Path) -> dict[str, Query]:
    """Returns all queries by name. Raises FormatError for a file that does not say what it answers."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "whyspan"
    folders = ((BUILT_IN, False), (config / "queries", True), (store / "queries", True))
    files = [(path, is_own) for folder, is_own in folders for path in sorted(folder.glob("*.sql"))]
    return {path.stem: read_query(path, is_own=is_own) for path, is_own in files}


def find_query(name: str, store: Path) -> Query:
    """Returns a query of the shelf, or of a file; UsageError names the nearest one there is."""
    if name.endswith(".sql"):
        return read_query(Path(name), is_own=True)
    shelf = load_shelf(store)
    if name not in shelf:
        raise UsageError(f"there is no query {name!r}", hint=nearest(name, shelf))
    return shelf[name]


def read_query(path: Path, *, is_own: bool) -> Query:
    """Reads one file."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    head = [line for line in text.splitlines() if line.startswith("-- ")]
    words = [line.removeprefix("-- ") for line in head if not _PARAMETER.match(line)]
    if not words:
        raise FormatError(
            f"{path} does not say what it answers", hint="begin it with a line like `-- The slowest runs.`"
        )
    found = [match for line in head if (match := _PARAMETER.match(line))]
    parameters = tuple(Parameter(name=m["name"], help=m["help"], default=m["default"]) for m in found)
    return Query(name=path.stem, help=" ".join(words), parameters=parameters, sql=text, is_own=is_own)
