"""What came out of one piece of input."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..spans import LogRecord, Span

GROUP_SIZE = 8 << 20
"""Characters of text that importers hold before they store them: a write costs as much as many spans, and memory must
stay flat.
"""
_ITEM_SIZE = 1000
"""Characters that stand for a span or log record itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Something that could not be read; the rest of the input goes on without it."""

    place: str
    """File, and the line or element in it."""
    reason: str
    excerpt: str = ""
    """The beginning of what was rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Spans, log records and rejects of one piece of input."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    rejects: tuple[Reject, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was found."""
        return not (self.spans or self.logs or self.rejects)


def combine(parts: Iterable[Decoded]) -> Decoded:
    """Returns all that the parts hold."""
    kept = list(parts)
    return Decoded(
        spans=tuple(s for part in kept for s in part.spans),
        logs=tuple(r for part in kept for r in part.logs),
        rejects=tuple(r for part in kept for r in part.rejects),
    )


def text_size(items: Iterable[Span | LogRecord]) -> int:
    """Returns about how many characters items hold."""
    return sum(
        _ITEM_SIZE + sum(len(value) for value in item.attributes.values() if isinstance(value, str)) for item in items
    )


def check_ids(decoded: Decoded, place: str) -> Decoded:
    """Returns the decoded items with the spans that cannot be identified moved to the rejects."""
    bad = list(_unidentified(decoded.spans, place))
    if not bad:
        return decoded
    good = tuple(s for s in decoded.spans if _is_id(s.trace_id, 32) and _is_id(s.span_id, 16))
    return replace(decoded, spans=good, rejects=(*decoded.rejects, *bad))


def _unidentified(spans: Iterable[Span], place: str) -> Iterator[Reject]:
    for span in spans:
        for kind, value, digits in (("trace", span.trace_id, 32), ("span", span.span_id, 16)):
            if not _is_id(value, digits):
                reason = f"the {kind} id {value!r} is not {digits} hex digits other than zeros"
                yield Reject(place=place, reason=reason, excerpt=span.name)
                break


def _is_id(value: str, digits: int) -> bool:
    return len(value) == digits and value.strip("0") != ""
