"""Splits a text into the pieces that can be removed from it, and renders it without some of them.

Text is cut into lines and sentences, HTML also at tags, comments and attributes, JSON into its scalars and, where a
string is prose, its sentences, at any depth. Rendering with nothing removed gives the text back byte for byte; with
pieces removed, JSON stays JSON and everything else keeps its exact characters.
"""

from collections.abc import Collection
from dataclasses import dataclass

from .json_text import MAX_DEPTH, JsonText, is_container
from .nodes import Glue, Leaf, Node, Piece, Sequence, piece
from .prose import Kind, Range, ranges

__all__ = ["MAX_DEPTH", "Document", "Piece", "split"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its pieces; piece numbers are positions in `pieces`."""

    text: str
    pieces: tuple[Piece, ...]
    root: Node

    def without(self, removed: Collection[int]) -> str:
        """Returns the text with some pieces removed."""
        return self.root.render(removed) if removed else self.text


def split(text: str) -> Document:
    """Splits a text into pieces."""
    pieces: list[Piece] = []
    root = _build(text, pieces, 0, 0)
    return Document(text, tuple(pieces), root)


def _build(text: str, pieces: list[Piece], offset: int, depth: int) -> Node:
    if depth < MAX_DEPTH and is_container(text):
        return JsonText(text, pieces, offset, depth, _build).node()
    first = len(pieces)
    children = [_part(text, part, pieces, offset, depth) for part in ranges(text)]
    return Sequence(children, first, len(pieces) - first)


def _part(text: str, part: Range, pieces: list[Piece], offset: int, depth: int) -> Node:
    raw, first = text[part.start : part.end], len(pieces)
    if part.kind is Kind.GLUE:
        return Glue(raw, first)
    if part.kind is Kind.JSON and depth < MAX_DEPTH:
        return JsonText(raw, pieces, offset + part.start, depth, _build).node()
    pieces.append(piece(raw.strip(), text, (part.start, part.end), offset))
    return Leaf(raw, first)
