"""What a case file carries out of the store, in a few lines for the person who commits it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..cases import Case
from ..fields import place_words, text_fields

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s\"'<>)\]]+")
_LONG_NUMBER = re.compile(r"\b\d(?:[ -]?\d){11,}\b")
"""Twelve digits or more: cards, accounts, phones with prefixes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One text of the case."""

    place: str
    """Where it sits, as in `the result of read_email`."""
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What leaves the store with a case."""

    passages: tuple[Passage, ...]
    """Texts of the same place are added up."""
    redacted: Mapping[str, int]
    """Rule → how often it replaced something."""
    addresses: tuple[str, ...]
    """E-mail addresses."""
    hosts: tuple[str, ...]
    """Hosts of web addresses."""
    long_numbers: int
    """Numbers that may be cards, accounts or phones."""

    @property
    def characters(self) -> int:
        """Characters of all texts."""
        return sum(p.characters for p in self.passages)


def review(case: Case, redacted: Mapping[str, int]) -> Review:
    """Looks through the texts of a (redacted) case."""
    fields = text_fields(case.api, case.request)
    sizes: dict[str, int] = {}
    for field in fields:
        place = place_words(field)
        sizes[place] = sizes.get(place, 0) + len(field.text)
    texts = [f.text for f in fields]
    return Review(
        passages=tuple(Passage(place=place, characters=size) for place, size in sizes.items()),
        redacted=redacted,
        addresses=_found(_EMAIL, texts),
        hosts=tuple(dict.fromkeys(h for url in _found(_URL, texts) if (h := urlsplit(url).hostname))),
        long_numbers=len(_found(_LONG_NUMBER, texts)),
    )


def _found(pattern: re.Pattern[str], texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({match[0] for text in texts for match in pattern.finditer(text)}))


def render_review(review: Review, *, listed: int = 6) -> Iterator[str]:
    """Yields the lines of a review."""
    yield f"leaves the store: {review.characters:,} characters"
    for passage in review.passages:
        yield f"  {passage.characters:>7,}  {passage.place}"
    for name, count in review.redacted.items():
        yield f"  redacted: {count} x {name}"
    for word, found in (("e-mail addresses", review.addresses), ("hosts", review.hosts)):
        if found:
            more = f" and {len(found) - listed} more" if len(found) > listed else ""
            yield f"  {word}: {', '.join(found[:listed])}{more}"
    if review.long_numbers:
        yield f"  long numbers: {review.long_numbers}"
