"""Imports files into a store: counts what came in, and keeps what could not be read with its reason."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import orjson

from ..errors import FormatError
from ..garbage import rare_collections
from ..spans import LogRecord, Span
from .decoded import GROUP_SIZE, Decoded, Reject, text_size
from .detection import decode_input
from .inputs import find_files, read_input

if TYPE_CHECKING:
    from ..store import Store


class Sink(Protocol):
    """Where the imported items go."""

    def write(self, spans: Iterable[Span], logs: Iterable[LogRecord] = ()) -> None:
        """Stores them durably."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did."""

    files: int
    spans: int
    """Read, repetitions included; the store keeps each span once."""
    logs: int
    rejects: tuple[Reject, ...]


def import_files(
    sink: "Sink | Store", paths: Sequence[str], *, progress: Callable[[int, int], None] | None = None
) -> ImportReport:
    """Imports files, folders or standard input (`-`) and returns the counts.

    `progress` gets (files done, files in all). Input that cannot be read is rejected and never stops the import.
    Raises UsageError for a path that does not exist.
    """
    files = find_files(paths)
    spans: list[Span] = []
    logs: list[LogRecord] = []
    rejects: list[Reject] = []
    counts = [0, 0]
    size = 0
    with rare_collections():
        for done, name in enumerate(files, 1):
            decoded = _decode_file(name)
            spans += decoded.spans
            logs += decoded.logs
            rejects += decoded.rejects
            size += text_size((*decoded.spans, *decoded.logs))
            if size >= GROUP_SIZE or done == len(files):
                sink.write(spans, logs)
                counts = [counts[0] + len(spans), counts[1] + len(logs)]
                spans, logs, size = [], [], 0
            if progress is not None:
                progress(done, len(files))
    return ImportReport(files=len(files), spans=counts[0], logs=counts[1], rejects=tuple(rejects))


def _decode_file(name: str) -> Decoded:
    try:
        return decode_input(read_input(name), name)
    except FormatError as error:
        return Decoded(rejects=(Reject(place=name, reason=error.message),))


def write_rejects(path: Path, rejects: Iterable[Reject]) -> None:
    """Appends the rejects to a file, one JSON object a line: place, reason, and the beginning of the input."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for reject in rejects:
            line = {"place": reject.place, "reason": reject.reason, "excerpt": reject.excerpt}
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
