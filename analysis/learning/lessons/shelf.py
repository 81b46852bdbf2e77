"""The bundles of lessons that were served: content-addressed, with one pointer that is replaced at once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....ingest.errors import FormatError, UsageError
from ....ingest.store.durable import publish
from ...canonical import digest
from .lesson import Lesson


class Shelf:
    """The folder of the bundles."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "bundles"
        self._pointer = folder / "served"

    @property
    def served(self) -> str:
        """Id of the bundle in force; empty before the first."""
        return self._pointer.read_text("utf-8").strip() if self._pointer.exists() else ""

    def read(self, bundle: str) -> dict[str, Any]:
        """Returns `lessons` (id → text) and `before` of a bundle."""
        try:
            value: dict[str, Any] = json.loads((self._folder / f"{bundle}.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise FormatError(f"the bundle {bundle[:12]} cannot be read: {error}") from error
        return value

    def serve(self, lessons: Sequence[Lesson]) -> str:
        """Puts a set of lessons in force, if it is not already; returns its id."""
        content = {lesson.id: lesson.text for lesson in sorted(lessons, key=lambda lesson: lesson.id)}
        before = self.served
        if before and self.read(before)["lessons"] == content:
            return before
        bundle = digest([content, before])
        write_whole(self._folder / f"{bundle}.json", json.dumps({"lessons": content, "before": before}, indent=1))
        write_whole(self._pointer, bundle + "\n")
        return bundle

    def roll_back(self) -> dict[str, str]:
        """Puts the bundle before the one in force back; returns its lessons (id → text)."""
        before = self.read(self.served)["before"] if self.served else ""
        if not before:
            raise UsageError("there is no earlier bundle to go back to")
        write_whole(self._pointer, before + "\n")
        lessons: dict[str, str] = self.read(before)["lessons"]
        return lessons

    @property
    def lessons(self) -> dict[str, str]:
        """The lessons in force, id → text."""
        return self._lessons_of(self.served)

    @property
    def before(self) -> dict[str, str]:
        """Those of the bundle before the one in force."""
        return self._lessons_of(self.read(self.served)["before"]) if self.served else {}

    def _lessons_of(self, bundle: str) -> dict[str, str]:
        lessons: dict[str, str] = self.read(bundle)["lessons"] if bundle else {}
        return lessons


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yields what lessons (id → text) were removed and added, a line each."""
    yield from (f"- {text}" for id, text in before.items() if id not in now)
    yield from (f"+ {text}" for id, text in now.items() if id not in before)


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that a reader finds the old or the new one, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, "utf-8")
    publish(temporary, path)
