"""Splits a text into the pieces that can be removed from it, and renders it without some of them.

Text is cut into lines and sentences, HTML also at block tags and comments, JSON into its scalars and, where a string
is prose, its sentences. Rendering with nothing removed gives the text back byte for byte; with pieces removed, JSON
stays JSON and everything else keeps its exact characters.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from sentencex import get_sentence_boundaries

MAX_DEPTH = 200
"""JSON nested deeper than this is one piece: past it Python's own recursion limit is near."""

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


class _Node(Protocol):
    """Part of a text: `first` and `count` number its pieces."""

    first: int
    count: int

    def render(self, removed: Collection[int]) -> str: ...


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its pieces; piece numbers are positions in `pieces`."""

    text: str
    pieces: tuple[Piece, ...]
    root: _Node

    def without(self, removed: Collection[int]) -> str:
        """Returns the text with some pieces removed."""
        return self.root.render(removed) if removed else self.text


def split(text: str) -> Document:
    """Splits a text into pieces."""
    pieces: list[Piece] = []
    root = _build(text, pieces, 0, 0)
    return Document(text, tuple(pieces), root)


@dataclass(slots=True)
class _Leaf:
    raw: str
    first: int
    count: int = 1

    def render(self, removed: Collection[int]) -> str:
        return "" if self.first in removed else self.raw


@dataclass(slots=True)
class _Glue:
    raw: str
    first: int
    count: int = 0

    def render(self, removed: Collection[int]) -> str:
        return self.raw


@dataclass(slots=True)
class _Sequence:
    children: list[_Node]
    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        return "".join(c.render(removed) for c in self.children)


@dataclass(slots=True)
class _Literal:
    """A JSON string that holds a document of its own."""

    raw: str
    inner: _Node
    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        if not _any_removed(self, removed):
            return self.raw
        return json.dumps(self.inner.render(removed), ensure_ascii=self.raw.isascii())


@dataclass(slots=True)
class _Entry:
    """An item or member of a JSON container with the white space and key around it."""

    before: str
    value: _Node
    after: str


@dataclass(slots=True)
class _Container:
    """A JSON array or object; an entry whose pieces are all removed goes away with its comma."""

    brackets: str
    entries: list[_Entry]
    first: int
    count: int

    def render(self, removed: Collection[int]) -> str:
        kept = [e for e in self.entries if not _all_removed(e.value, removed)]
        return (
            self.brackets[0] + ",".join(e.before + e.value.render(removed) + e.after for e in kept) + self.brackets[1]
        )


def _any_removed(node: _Node, removed: Collection[int]) -> bool:
    return any(i in removed for i in range(node.first, node.first + node.count))


def _all_removed(node: _Node, removed: Collection[int]) -> bool:
    return node.count > 0 and all(i in removed for i in range(node.first, node.first + node.count))


def _build(text: str, pieces: list[Piece], offset: int, depth: int) -> _Node:
    if depth < MAX_DEPTH and _is_json_container(text):
        return _Json(text, pieces, offset, depth).node()
    first = len(pieces)
    children: list[_Node] = []
    for start, end, removable in _prose(text):
        raw = text[start:end]
        if removable:
            children.append(_Leaf(raw, len(pieces)))
            pieces.append(_piece(raw.strip(), text, start, end, offset))
        else:
            children.append(_Glue(raw, len(pieces)))
    return _Sequence(children, first, len(pieces) - first)


def _piece(said: str, source: str, start: int, end: int, offset: int) -> Piece:
    """Returns the piece that `source[start:end]` is; `offset` is where the source begins in the whole text."""
    before, after = source[max(0, start - SURROUNDINGS) : start], source[end : end + SURROUNDINGS]
    return Piece(text=said, start=offset + start, end=offset + end, before=before, after=after)


def _is_json_container(text: str) -> bool:
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


class _Json:
    """Walks a JSON text that is known to be valid, keeping every character."""

    _space = re.compile(r"[ \t\r\n]*")
    _decoder = json.JSONDecoder()

    def __init__(self, text: str, pieces: list[Piece], offset: int, depth: int) -> None:
        self.text, self.pieces, self.offset, self.depth = text, pieces, offset, depth
        self.at = 0

    def node(self) -> _Node:
        """Returns the node of the whole text."""
        first = len(self.pieces)
        lead = _Glue(self._skip(), first)
        value = self._value("", self.at, self.depth)
        tail = _Glue(self.text[self.at :], len(self.pieces))
        return _Sequence([lead, value, tail], first, len(self.pieces) - first)

    def _skip(self) -> str:
        match = self._space.match(self.text, self.at)
        assert match is not None  # the pattern matches the empty string
        self.at = match.end()
        return match.group()

    def _value(self, key: str, start: int, depth: int) -> _Node:
        """Reads the value at the cursor; `start` is where its member begins, key included."""
        opening = self.text[self.at]
        if opening in "[{" and depth < MAX_DEPTH:
            return self._container(opening, depth)
        begin, first = self.at, len(self.pieces)
        value, self.at = self._decoder.raw_decode(self.text, begin)
        raw = self.text[begin : self.at]
        if isinstance(value, str):
            inner = _build(value, self.pieces, 0, depth + 1)
            found = self.pieces[first:]
            del self.pieces[first:]
            if len(found) > 1:
                self.pieces += [replace(p, start=self.offset + begin, end=self.offset + self.at) for p in found]
                return _Literal(raw, inner, first, len(found))
        said = value if isinstance(value, str) else raw
        label = f"{key}: {said}" if key else said
        self.pieces.append(_piece(label, self.text, start, self.at, self.offset))
        return _Leaf(raw, first)

    def _container(self, opening: str, depth: int) -> _Node:
        first, begin = len(self.pieces), self.at
        self.at += 1
        entries: list[_Entry] = []
        before = self._skip()
        if self.text[self.at] in "]}":
            self.at += 1
            return _Glue(self.text[begin : self.at], first)
        while True:
            start, key = self.at, ""
            if opening == "{":
                key, self.at = self._decoder.raw_decode(self.text, self.at)
                self._skip()
                self.at += 1  # the colon
                self._skip()
                before += self.text[start : self.at]
            value = self._value(key, start, depth + 1)
            entries.append(_Entry(before, value, self._skip()))
            closing = self.text[self.at]
            self.at += 1
            if closing != ",":
                break
            before = self._skip()
        return _Container("[]" if opening == "[" else "{}", entries, first, len(self.pieces) - first)


_BLOCK_TAGS = (
    "address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|head|header|hr|"
    "html|li|main|nav|ol|p|pre|script|section|style|table|tbody|td|tfoot|th|thead|title|tr|ul"
)
_MARKUP = re.compile(rf"<!--|-->|</?(?:{_BLOCK_TAGS})\b[^<>]*>", re.IGNORECASE)
_LIST_MARKER = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])[.)]\s*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def _prose(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yields (start, end, removable) ranges that tile the text.

    Markup stays: a comment whose delimiter went with a sentence would expose the other sentences.
    """
    at = 0
    for mark in _MARKUP.finditer(text):
        yield from _sentences(text, at, mark.start())
        yield mark.start(), mark.end(), False
        at = mark.end()
    yield from _sentences(text, at, len(text))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    for line in _LINE.finditer(text, start, end):
        if not line.group().strip():
            yield line.start(), line.end(), False
            continue
        first = line.start()
        for boundary in get_sentence_boundaries("en", line.group()):
            last = line.start() + boundary["end_index"]
            # The number of a list item ends like a sentence, and belongs to the one that it numbers.
            if not _LIST_MARKER.fullmatch(text, first, last):
                yield first, last, bool(text[first:last].strip())
                first = last
        if first < line.end():
            yield first, line.end(), bool(text[first : line.end()].strip())
