"""The parts of a text, as a tree that gives the text back with or without some of its pieces."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

SURROUNDINGS = 160
"""Characters kept from either side of a piece, to quote it in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One removable part of a text."""

    text: str
    """What it says, unescaped; a JSON member reads `key: value`."""
    start: int
    end: int
    """Character range in the whole text; for a sentence inside a JSON string, the range of that string."""
    before: str
    """What stands right before it, up to SURROUNDINGS characters, as it stands there."""
    after: str


def piece(said: str, source: str, where: tuple[int, int], offset: int) -> Piece:
    """Returns the piece at a range of `source`; `offset` is where the source begins in the whole text."""
    start, end = where
    before, after = source[max(0, start - SURROUNDINGS) : start], source[end : end + SURROUNDINGS]
    return Piece(text=said, start=offset + start, end=offset + end, before=before, after=after)


class Node(Protocol):
    """Part of a text: `first` and `count` number its pieces."""

    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        """Returns the text without the pieces of these numbers."""
        ...


@dataclass(slots=True)
class Leaf:
    """A removable stretch of text."""

    raw: str
    first: int
    count: int = 1

    def render(self, removed: Collection[int]) -> str:
        """Itself, or nothing."""
        return "" if self.first in removed else self.raw


@dataclass(slots=True)
class Glue:
    """A stretch of text that always stays: markup, white space, fences."""

    raw: str
    first: int
    count: int = 0

    def render(self, removed: Collection[int]) -> str:
        """Itself."""
        return self.raw


@dataclass(slots=True)
class Sequence:
    """Parts that follow each other."""

    children: list[Node]
    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        """Its parts, one after the other."""
        return "".join(c.render(removed) for c in self.children)


@dataclass(slots=True)
class Literal:
    """A JSON string that holds a document of its own."""

    raw: str
    inner: Node
    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        """The literal, escaped anew only when something of it is gone."""
        if not any_removed(self, removed):
            return self.raw
        return json.dumps(self.inner.render(removed), ensure_ascii=self.raw.isascii())


@dataclass(slots=True)
class Entry:
    """An item or member of a JSON container with the white space and key around it."""

    before: str
    value: Node
    after: str


@dataclass(slots=True)
class Container:
    """A JSON array or object; an entry whose pieces are all removed goes away with its comma."""

    brackets: str
    entries: list[Entry]
    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        """The container with the entries that are left."""
        kept = [e for e in self.entries if not all_removed(e.value, removed)]
        inside = ",".join(e.before + e.value.render(removed) + e.after for e in kept)
        return self.brackets[0] + inside + self.brackets[1]


def any_removed(node: Node, removed: Collection[int]) -> bool:
    """Whether a piece of the node is gone."""
    return any(i in removed for i in range(node.first, node.first + node.count))


def all_removed(node: Node, removed: Collection[int]) -> bool:
    """Whether the node had pieces and all of them are gone."""
    return node.count > 0 and all(i in removed for i in range(node.first, node.first + node.count))
