"""Reading a list of items so that one that cannot be read costs only itself."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ..errors import FormatError
from ..spans import LogRecord
from .decoded import Reject
from .evaluations import Score, score_event

T = TypeVar("T")
_UNREADABLE = (KeyError, TypeError, ValueError, FormatError)
_EXCERPT = 200


def read_each(
    kind: str, items: Iterable[Mapping[str, Any]], decode: Callable[[Mapping[str, Any]], T]
) -> tuple[list[T], list[Reject]]:
    """Returns what `decode` makes of each item, and the items at which it failed with the reason."""
    good: list[T] = []
    rejects: list[Reject] = []
    for item in items:
        try:
            good.append(decode(item))
        except _UNREADABLE as error:
            id = next((item[key] for key in ("id", "span_id", "assessment_id") if item.get(key)), "without an id")
            reason = error.message if isinstance(error, FormatError) else f"cannot be read: {error!r}"
            rejects.append(Reject(place=f"{kind} {id}", reason=reason, excerpt=str(item)[:_EXCERPT]))
    return good, rejects


def read_scores(
    items: Iterable[Mapping[str, Any]], decode: Callable[[Mapping[str, Any]], Score]
) -> tuple[tuple[LogRecord, ...], list[Reject]]:
    """Returns the evaluation events of scores, those that whyspan wrote aside."""
    scores, rejects = read_each("score", items, decode)
    return tuple(score_event(score) for score in scores if not score.is_own), rejects
