"""Cuts a text that is not JSON: lines and sentences, and the stretches between them that must stay.

Markup stays, because what is left would read differently without it: HTML tags and the delimiters of comments, code
fences, the ruled line of a table. What markup says stays removable: comments, and attributes in words (`alt`,
`title`, `content` …), which a model reads and a person does not see. In code and tables a line is the smallest piece.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from sentencex import get_sentence_boundaries

from .json_text import is_container


class Kind(Enum):
    """What a range of a text is."""

    PIECE = auto()
    GLUE = auto()
    JSON = auto()
    """A JSON array or object: the body of a fence, or a line."""


@dataclass(frozen=True, slots=True)
class Range:
    """A half-open character range."""

    start: int
    end: int
    kind: Kind


_BLOCK_TAGS = (
    "address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|head|header|hr|"
    "html|li|main|nav|ol|p|pre|script|section|style|table|tbody|td|tfoot|th|thead|title|tr|ul"
)
_NO_WORDS = "class|style|d|viewBox|points|transform|srcset|sizes"
"""Attributes whose values are lists of names or numbers."""
_ATTRIBUTE = re.compile(rf"""\s+(?!(?:{_NO_WORDS})\b)[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*')""", re.IGNORECASE)
_WORDY = r"""=\s*(?:"[^"<>]*\S\s+\S[^"<>]*"|'[^'<>]*\S\s+\S[^'<>]*')"""
"""An attribute value of more than one word."""
_MARKUP = re.compile(
    rf"<!--|-->|</?(?:{_BLOCK_TAGS})\b[^<>]*>|<[a-z][\w:-]*\b[^<>]*?{_WORDY}[^<>]*>"
    r"|^[ \t]*</?[a-z][\w:-]*[^<>]*>[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Comment delimiters, block tags, tags with attributes in words, and tags alone on their line."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_TABLE_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*\n?")
_SAYS_SOMETHING = re.compile(r"\w|[^\x00-\x7f]")
_ONLY_NUMBER = re.compile(r"\s*[-*+>]?\s*\(?(?:\d{1,3}|[A-Za-z])[.)]\s*")
"""A list number, which a sentence splitter takes for a sentence."""


def ranges(text: str) -> Iterator[Range]:
    """Yields ranges that tile a text."""
    at = 0
    for fence in _FENCE.finditer(text):
        yield from _marked(text, at, fence.start())
        yield Range(fence.start(), fence.start(2), Kind.GLUE)
        yield from _code(text, fence.start(2), fence.end(2))
        yield Range(fence.end(2), fence.end(), Kind.GLUE)
        at = fence.end()
    yield from _marked(text, at, len(text))


def _code(text: str, start: int, end: int) -> Iterator[Range]:
    if is_container(text[start:end]):
        yield Range(start, end, Kind.JSON)
        return
    for line in _LINE.finditer(text, start, end):
        yield Range(line.start(), line.end(), _kind(line.group()))


def _marked(text: str, start: int, end: int) -> Iterator[Range]:
    at = start
    for mark in _MARKUP.finditer(text, start, end):
        yield from _lines(text, at, mark.start())
        yield from _tag(text, mark.start(), mark.end())
        at = mark.end()
    yield from _lines(text, at, end)


def _tag(text: str, start: int, end: int) -> Iterator[Range]:
    at = start
    for attribute in _ATTRIBUTE.finditer(text, start, end):
        if re.search(_WORDY, attribute.group()):
            yield Range(at, attribute.start(), Kind.GLUE)
            yield Range(attribute.start(), attribute.end(), Kind.PIECE)
            at = attribute.end()
    yield Range(at, end, Kind.GLUE)


def _lines(text: str, start: int, end: int) -> Iterator[Range]:
    for line in _LINE.finditer(text, start, end):
        said = line.group()
        if is_container(said):
            yield Range(line.start(), line.end(), Kind.JSON)
        elif _TABLE_ROW.fullmatch(said) or not _SAYS_SOMETHING.search(said):
            yield Range(line.start(), line.end(), _kind(said))
        else:
            yield from sentences(said, line.start())


def sentences(line: str, offset: int) -> Iterator[Range]:
    """Yields the sentences of a line; a list number belongs to the sentence after it."""
    # The splitter takes no lone surrogates; a stand-in of the same length keeps the positions.
    plain = line if line.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", line)
    start = 0
    for boundary in get_sentence_boundaries("en", plain):
        end = boundary["end_index"]
        if _ONLY_NUMBER.fullmatch(line[start:end]) and end < len(line):
            continue
        yield Range(offset + start, offset + end, _kind(line[start:end]))
        start = end
    if start < len(line):
        yield Range(offset + start, offset + len(line), _kind(line[start:]))


def _kind(text: str) -> Kind:
    return Kind.PIECE if _SAYS_SOMETHING.search(text) else Kind.GLUE
