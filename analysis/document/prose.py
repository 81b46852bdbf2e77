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


_BLOCK_TAGS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "center", "dd", "div", "dl", "dt", "fieldset",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "li", "main",
    "nav", "ol", "p", "pre", "script", "section", "style", "table", "tbody", "td", "tfoot", "th", "thead", "title",
    "tr", "ul",
})  # fmt: skip
_NO_WORDS = frozenset({"class", "style", "d", "viewbox", "points", "transform", "srcset", "sizes"})
"""Attributes whose values are lists of names or numbers."""
_MARKUP = re.compile(r"<!--|-->|</?([a-z][\w:-]*)\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<=\s)([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NEAR = 200
"""Characters looked at to tell whether a tag is alone on its line."""
_FENCE = re.compile(r"[ \t]{0,12}(```+|~~~+)[^`\n]*$")
_SAYS_SOMETHING = re.compile(r"\w|[^\x00-\x7f]")
_ONLY_NUMBER = re.compile(r"\s*[-*+>]?\s*\(?(?:\d{1,3}|[A-Za-z])[.)]\s*")
"""A list number, which a sentence splitter takes for a sentence."""
_NUMBER_LENGTH = 12
"""Longer than this, white space included, it is none."""


def ranges(text: str) -> Iterator[Range]:
    """Yields ranges that tile a text."""
    at = 0
    for opening, body, closing, end in _fences(text):
        yield from _marked(text, at, opening)
        yield Range(opening, body, Kind.GLUE)
        yield from _code(text, body, closing)
        yield Range(closing, end, Kind.GLUE)
        at = end
    yield from _marked(text, at, len(text))


def _fences(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Yields where each closed code fence begins, where its body begins and ends, and where the fence ends."""
    marker, opening, body = "", 0, 0
    for line in _LINE.finditer(text):
        found = _FENCE.match(line.group().rstrip())
        if found is None:
            continue
        if not marker:
            marker, opening, body = found[1], line.start(), line.end()
        elif line.group().strip().startswith(marker) and not line.group().strip().strip(marker[0]):
            yield opening, body, line.start(), line.end()
            marker = ""


def _code(text: str, start: int, end: int) -> Iterator[Range]:
    if is_container(text[start:end]):
        yield Range(start, end, Kind.JSON)
        return
    for line in _LINE.finditer(text, start, end):
        yield Range(line.start(), line.end(), _kind(line.group()))


def _marked(text: str, start: int, end: int) -> Iterator[Range]:
    at = start
    for mark in _MARKUP.finditer(text, start, end):
        attributes = [a for a in _ATTRIBUTE.finditer(text, mark.start(), mark.end()) if _is_wordy(a)]
        if not (attributes or _stays(text, mark)):
            continue
        yield from _lines(text, at, mark.start())
        at = mark.start()
        for attribute in attributes:
            # The white space before an attribute goes with it.
            before = at + len(text[at : attribute.start()].rstrip())
            yield Range(at, before, Kind.GLUE)
            yield Range(before, attribute.end(), Kind.PIECE)
            at = attribute.end()
        yield Range(at, mark.end(), Kind.GLUE)
        at = mark.end()
    yield from _lines(text, at, end)


def _stays(text: str, mark: re.Match[str]) -> bool:
    """Whether markup stays: comment delimiters, block tags, tags alone on their line; but not `<b>` in a sentence."""
    if mark[1] is None or mark[1].lower() in _BLOCK_TAGS:
        return True
    before = text[max(0, mark.start() - _NEAR) : mark.start()].rpartition("\n")[2]
    after = text[mark.end() : mark.end() + _NEAR].partition("\n")[0]
    return not (before + after).strip()


def _is_wordy(attribute: re.Match[str]) -> bool:
    """Whether an attribute's value has more than one word."""
    return attribute[1].lower() not in _NO_WORDS and len((attribute[2] or attribute[3] or "").split(maxsplit=1)) > 1


def _lines(text: str, start: int, end: int) -> Iterator[Range]:
    for line in _LINE.finditer(text, start, end):
        said = line.group()
        bare = said.strip()
        if is_container(said):
            yield Range(line.start(), line.end(), Kind.JSON)
        elif (bare.startswith("|") and bare.endswith("|")) or not _SAYS_SOMETHING.search(said):
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
        if end - start <= _NUMBER_LENGTH and end < len(line) and _ONLY_NUMBER.fullmatch(line[start:end]):
            continue
        yield Range(offset + start, offset + end, _kind(line[start:end]))
        start = end
    if start < len(line):
        yield Range(offset + start, offset + len(line), _kind(line[start:]))


def _kind(text: str) -> Kind:
    return Kind.PIECE if _SAYS_SOMETHING.search(text) else Kind.GLUE
