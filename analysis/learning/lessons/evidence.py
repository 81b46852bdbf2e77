"""The book of tests of a scenario: an append-only file that says what was tried, and what came of it.

A test is written down before its first pair is drawn, with its number: a lesson that is dropped half-way has been
tried all the same. Keys hold no labels, so calling something by another name makes no evidence.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....ingest.errors import FormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the book."""

    lesson: str
    """Id of the lesson."""
    epoch: str
    run: str
    """The run, or the re-test, that drew the pairs."""
    number: int
    """The j of the gate; a re-test has that of the test."""
    alpha: float
    decision: str = ""
    """Empty where the test is only reserved."""
    blocks: tuple[float, ...] = ()
    heldout: tuple[float, ...] = ()


class Book:
    """The open file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = list(self._read())

    def reserve(self, lesson: str, *, epoch: str, run: str, alpha: float) -> Entry:
        """Writes down that a lesson is about to be tested; one that this run has reserved already keeps its number."""
        for entry in self._entries:
            if (entry.lesson, entry.epoch, entry.run) == (lesson, epoch, run) and not entry.decision:
                return entry
        entry = Entry(lesson=lesson, epoch=epoch, run=run, number=self.tested + 1, alpha=alpha)
        self._append(entry)
        return entry

    def settle(self, entry: Entry) -> None:
        """Writes down what came of a test; doing it again changes nothing."""
        if entry not in self._entries:
            self._append(entry)

    @property
    def tested(self) -> int:
        """How many tests were ever reserved."""
        return max((e.number for e in self._entries), default=0)

    def knows(self, lesson: str, *, epoch: str, run: str) -> bool:
        """Whether another run has tested a lesson, by the same scorer and model."""
        return any(e.lesson == lesson and e.epoch == epoch and e.run != run for e in self._entries)

    def is_new(self, lesson: str, *, run: str) -> bool:
        """Whether a run alone has tested a lesson, by any scorer and model."""
        return {e.run for e in self._entries if e.lesson == lesson} == {run}

    def results(self, lesson: str, *, epoch: str) -> list[Entry]:
        """Returns the results about a lesson, oldest first: together they are its evidence."""
        return [e for e in self._entries if e.lesson == lesson and e.epoch == epoch and e.decision]

    def _append(self, entry: Entry) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._entries.append(entry)

    def _read(self) -> Iterator[Entry]:
        if not self._path.exists():
            return
        lines = self._path.read_text("utf-8").splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            if number == len(lines) and not line.endswith("\n"):
                # A process that died while it wrote; what the line would have said is drawn again, for free.
                self._path.write_text("".join(lines[:-1]), "utf-8")
                return
            yield self._entry(line, number)

    def _entry(self, line: str, number: int) -> Entry:
        try:
            value: dict[str, Any] = json.loads(line)
            return Entry(**{**value, "blocks": tuple(value["blocks"]), "heldout": tuple(value["heldout"])})
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(f"{self._path}:{number}: the line cannot be read: {error}") from error
