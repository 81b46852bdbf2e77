"""Content-addressed text: an agent sends its whole conversation again with every turn, the store keeps each part once.

A long value is cut where JSON objects follow one another, and each piece is kept once a trace, in the table
`messages`, under a hash of its content. What stands in the row instead is a list of pieces; joining them gives the
value back byte for byte, whatever it was: where the cuts fall decides only how much is shared.

Pieces belong to a trace, not to the store, so that they lie beside its spans, go when it goes, and nobody can plant
text in the trace of somebody else.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from ..errors import StoreError

MIN_TEXT = 1024
"""Shorter values (in bytes) are kept in the row."""
_MIN_PIECE = 128
"""A piece this small (in bytes) joins the next one: a reference would not be shorter."""
_HASH_DIGITS = 32
"""128 bits of SHA-256: nobody finds two texts with the same, and processors have instructions for it."""
_CUT = re.compile(rb'\}(?=, ?\{|\], ?")')
"""Where texts are cut: always after an ASCII character, so that pieces of UTF-8 are UTF-8."""
_REFERENCE, _LITERAL = "#", "="
FOLDED = "*"
"""Ends the kind of a folded value: `string*`."""


class BodyRow(NamedTuple):
    """A row of `messages`."""

    trace_id: str
    hash: str
    time: int
    """Start of the span that brought it first, Unix µs."""
    body: bytes
    """UTF-8."""
    seq: int


class Bodies:
    """Folds the long values of a batch and collects the rows of `messages`."""

    def __init__(self, first_seq: int) -> None:
        self.rows: list[BodyRow] = []
        self._known: set[tuple[str, str]] = set()
        self._heads: dict[tuple[str, str], tuple[bytes, list[str]]] = {}
        self._seq = first_seq

    def fold(self, trace_id: str, time_us: int, key: str, text: bytes) -> str:
        """Returns what stands for the UTF-8 text in the row: JSON of the trace id and the pieces.

        `key` is the attribute: its previous value in the trace is probably the beginning of this one.
        """
        head, pieces = self._heads.get((trace_id, key), (b"", []))
        if not text.startswith(head):
            head, pieces = b"", []
        start, pieces = len(head), pieces.copy()
        for end in _cut(text, start):
            pieces.append(self._keep(trace_id, time_us, text[start:end]))
            start = end
        self._heads[trace_id, key] = (text[:start], pieces)
        tail = [self._keep(trace_id, time_us, text[start:])] if start < len(text) else []
        return orjson.dumps([trace_id, *pieces, *tail]).decode()

    def _keep(self, trace_id: str, time_us: int, piece: bytes) -> str:
        if len(piece) < _MIN_PIECE:
            return _LITERAL + piece.decode()
        digest = hashlib.sha256(piece).hexdigest()[:_HASH_DIGITS]
        if (trace_id, digest) not in self._known:
            self._known.add((trace_id, digest))
            self.rows.append(BodyRow(trace_id, digest, time_us, piece, self._seq))
            self._seq += 1
        return _REFERENCE + digest


def _cut(text: bytes, start: int) -> list[int]:
    """Returns the ends of the pieces after `start`; what follows the last one is the tail."""
    ends = []
    begin = start
    for match in _CUT.finditer(text, start):
        if match.end() - begin >= _MIN_PIECE:
            begin = match.end()
            ends.append(begin)
    last = text.rfind(b"}]", begin) + 1  # the end of the last element, which in the next value has a successor
    return [*ends, last] if last - begin >= _MIN_PIECE else ends


def trace_of(folded: str) -> str:
    """Returns the trace whose messages a folded value is made of."""
    trace_id: str = orjson.loads(folded)[0]
    return trace_id


def unfold(folded: str, bodies: Mapping[str, str]) -> str:
    """Returns the text that was folded. `bodies`: hash → body of its trace.

    Raises StoreError when a piece is missing: the store is damaged then.
    """
    trace_id, *pieces = orjson.loads(folded)
    try:
        return "".join(p[1:] if p[0] == _LITERAL else bodies[p[1:]] for p in pieces)
    except KeyError as error:
        raise StoreError(
            f"trace {trace_id} lacks the message {error.args[0]}", hint="`whyspan store verify` lists what is damaged"
        ) from error
