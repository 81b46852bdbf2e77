"""Reading a back end window by window, so that every import goes on where the last one ended.

A window is a range of start times. What a back end has in it is read in named steps (a project, its scores, …), each
page after page. When a window is done, the next one begins a little before its end, because back ends show things late.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..remote import AnsweredError
from ..spans import LogRecord, Span
from .decoded import Reject
from .source import Batch, Position, Selection

OVERLAP_NS = 15 * 60 * 10**9
"""Langfuse may show an observation up to ten minutes after it came; the others are faster."""


@dataclass(frozen=True, slots=True)
class Window:
    """Start times, Unix ns: from `start` on (None: from the beginning), before `end`."""

    start: int | None
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one request gave."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    rejects: tuple[Reject, ...] = ()
    cursor: Any = None
    """What the next request needs, JSON; None at the end of the step."""
    waiting_ns: int | None = None
    """Start of the earliest item that is not finished and was left for a later import."""


Step: TypeAlias = Callable[[Any], Page]
"""Cursor (None: the beginning) → page."""


@dataclass(slots=True, kw_only=True)
class Walk:
    """One window being read; all of it goes into a position."""

    window: Window
    done: list[str] = field(default_factory=list)
    """Names of the steps that are finished."""
    cursor: Any = None
    """Of the first step that is not."""
    waiting_ns: int | None = None

    @classmethod
    def begin(cls, position: Position | None, selection: Selection, *, now_ns: int) -> "Walk":
        """Returns the interrupted walk that the position holds, or a new one after the last."""
        if position and "window" in position:
            start, end = position["window"]
            return cls(
                window=Window(start, end),
                done=list(position["done"]),
                cursor=position["cursor"],
                waiting_ns=position["waiting"],
            )
        start = selection.start_ns
        until = position.get("until") if position else None
        if until is not None and (start is None or selection.is_rolling):
            start = max(start or 0, until - OVERLAP_NS)
        return cls(window=Window(start, selection.end_ns or now_ns))

    def restart(self) -> None:
        """Forgets the pages read so far; reading them again changes nothing."""
        self.done, self.cursor = [], None

    def run(self, steps: Mapping[str, Step], *, version_key: str = "") -> Iterator[Batch]:
        """Yields the pages of the steps that are left, in order, and at the end the position for the next window."""
        may_be_stale = self.cursor is not None
        for name, step in steps.items():
            while name not in self.done:
                try:
                    page = step(self.cursor)
                except AnsweredError as error:
                    if error.status != 400 or not may_be_stale:
                        raise
                    # The server does not know the cursor of an interrupted import any more.
                    self.cursor, may_be_stale = None, False
                    continue
                may_be_stale = False
                self._advance(name, page)
                yield Batch(
                    spans=page.spans,
                    logs=page.logs,
                    rejects=page.rejects,
                    version_key=version_key,
                    position=self._position(),
                )
        end = self.window.end
        yield Batch(position={"until": end if self.waiting_ns is None else min(end, self.waiting_ns)})

    def _advance(self, name: str, page: Page) -> None:
        self.cursor = page.cursor
        if page.cursor is None:
            self.done.append(name)
        if page.waiting_ns is not None:
            self.waiting_ns = min(page.waiting_ns, self.waiting_ns or page.waiting_ns)

    def _position(self) -> dict[str, Any]:
        window = [self.window.start, self.window.end]
        return {"window": window, "done": list(self.done), "cursor": self.cursor, "waiting": self.waiting_ns}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowedSource:
    """A source whose windows are read in the same way each time."""

    back_end: str
    """Its kind and where it is."""
    selection: Selection
    steps: Callable[[Window], Mapping[str, Step]]
    """Window → what is to be read of it, in order."""

    @property
    def key(self) -> str:
        """Back end and selection."""
        return import_key(self.back_end, self.selection)

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yields the pages of one window."""
        walk = Walk.begin(position, self.selection, now_ns=time.time_ns())
        yield from walk.run(self.steps(walk.window))


def import_key(back_end: str, selection: Selection) -> str:
    """Returns the key of an import: the back end, the filters, and the times where they are fixed."""
    fixed = None if selection.is_rolling else (selection.start_ns, selection.end_ns)
    return f"{back_end} {sorted(selection.words().items())} {fixed}"
