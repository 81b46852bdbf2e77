"""Reads a JSON text into nodes, keeping every character. Strings in it may hold prose or JSON of their own."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from .nodes import Container, Entry, Glue, Leaf, Literal, Node, Piece, Sequence, piece

MAX_DEPTH = 200
"""JSON nested deeper than this is one piece: past it Python's own recursion limit is near."""

Build: TypeAlias = Callable[[str, list[Piece], int, int], Node]
"""Makes the node of a text: (text, pieces so far, offset of the text, depth)."""

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def is_container(text: str) -> bool:
    """Whether a text is a JSON array or object."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in {"{}", "[]"}:
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


class JsonText:
    """Walks a text that is known to be valid JSON."""

    def __init__(self, text: str, pieces: list[Piece], offset: int, depth: int, build: Build) -> None:
        self.text, self.pieces, self.offset, self.depth = text, pieces, offset, depth
        self._build = build
        self._at = 0

    def node(self) -> Node:
        """Returns the node of the whole text."""
        first = len(self.pieces)
        lead = Glue(self._skip(), first)
        value = self._value("", self._at, self.depth)
        tail = Glue(self.text[self._at :], len(self.pieces))
        return Sequence([lead, value, tail], first, len(self.pieces) - first)

    def _skip(self) -> str:
        match = _SPACE.match(self.text, self._at)
        assert match is not None  # the pattern matches the empty string
        self._at = match.end()
        return match.group()

    def _value(self, key: str, start: int, depth: int) -> Node:
        """Reads the value at the cursor; `start` is where its member begins, key included."""
        if self.text[self._at] in "[{" and depth < MAX_DEPTH:
            return self._container(depth)
        begin, first = self._at, len(self.pieces)
        value, self._at = _DECODER.raw_decode(self.text, begin)
        raw = self.text[begin : self._at]
        if isinstance(value, str) and depth < MAX_DEPTH:
            inner = self._build(value, self.pieces, 0, depth + 1)
            found = self.pieces[first:]
            del self.pieces[first:]
            if len(found) > 1:
                start, end = self.offset + begin, self.offset + self._at
                self.pieces += [replace(p, start=start, end=end) for p in found]
                return Literal(raw, inner, first, len(found))
        said = value if isinstance(value, str) else raw
        label = f"{key}: {said}" if key else said
        self.pieces.append(piece(label, self.text, (start, self._at), self.offset))
        return Leaf(raw, first)

    def _container(self, depth: int) -> Node:
        first, begin = len(self.pieces), self._at
        opening = self.text[begin]
        self._at += 1
        entries: list[Entry] = []
        before = self._skip()
        if self.text[self._at] in "]}":
            self._at += 1
            return Glue(self.text[begin : self._at], first)
        while True:
            start, key = self._at, ""
            if opening == "{":
                key = self._key()
                before += self.text[start : self._at]
            value = self._value(key, start, depth + 1)
            entries.append(Entry(before, value, self._skip()))
            self._at += 1
            if self.text[self._at - 1] != ",":
                break
            before = self._skip()
        return Container("[]" if opening == "[" else "{}", entries, first, len(self.pieces) - first)

    def _key(self) -> str:
        """Reads a key and its colon."""
        key, self._at = _DECODER.raw_decode(self.text, self._at)
        self._skip()
        self._at += 1
        self._skip()
        return str(key)
