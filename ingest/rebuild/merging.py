"""One partial call out of several: every field from the most faithful place that has it undamaged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..calls import Json
from ..dialects.partial import Found, Loss, PartialCall, Trust

T = TypeVar("T")


def merge(partials: Sequence[PartialCall]) -> PartialCall:
    """Returns what several dialects read from one span: of every field the most trusted value."""
    return _merge(partials, lambda found: (has_lost_messages(found), found.trust))


def merge_nested(partials: Sequence[PartialCall]) -> PartialCall:
    """Returns what several spans of one call say, the one nearest to the wire first.

    A span nearer to the wire is right about what was sent even where an outer one is better structured: frameworks
    record messages before the provider's adapter has changed them. Only the raw request is better still.
    """
    return _merge(partials, lambda found: (has_lost_messages(found), found.trust is not Trust.RAW))


def has_lost_messages(found: Found[Any]) -> bool:
    """Tells whether a value is known to lack messages; any other value is better than that."""
    return any(gap.name.startswith("messages") for gap in found.gaps)


Rank = Callable[[Found[Any]], tuple[Any, ...]]


def _merge(partials: Sequence[PartialCall], rank: Rank) -> PartialCall:
    if len(partials) == 1 and not partials[0].retracted:
        return partials[0]

    def best(candidates: Iterable[Found[T] | None]) -> Found[T] | None:
        return min((c for c in candidates if c is not None), key=rank, default=None)

    retracted = {name: why for p in partials for name, why in p.retracted.items()}
    params = _merge_params((p.params for p in partials), rank)
    return PartialCall(
        role=partials[0].role,
        api=best(p.api for p in partials),
        body=best(p.body for p in partials),
        messages=best(p.messages for p in partials),
        system=_system(partials, rank),
        tools=best(p.tools for p in partials),
        params={name: found for name, found in params.items() if name not in retracted},
        model=best(p.model for p in partials),
        provider=best(p.provider for p in partials),
        base_url=best(p.base_url for p in partials),
        replies=best(p.replies for p in partials),
        usage=best(p.usage for p in partials),
        response_id=best(p.response_id for p in partials),
        session_id=best(p.session_id for p in partials),
        agent=best(p.agent for p in partials),
        retracted=retracted,
        losses=frozenset[Loss]().union(*(p.losses for p in partials)),
        unrecorded=_unrecorded(partials, rank),
        content_switch=next((p.content_switch for p in partials if p.content_switch), ""),
    )


def _unrecorded(partials: Sequence[PartialCall], rank: Rank) -> frozenset[str]:
    """Returns what the chosen content's convention has no place for.

    A raw body speaks for itself. Of one span's dialects each knows some gaps of the same instrumentation.
    """
    raw = [p for p in partials if p.body is not None]
    if raw:
        return min(raw, key=lambda p: rank(p.body)).unrecorded  # type: ignore[arg-type]
    return frozenset[str]().union(*(p.unrecorded for p in partials))


def _system(partials: Sequence[PartialCall], rank: Rank) -> Any:
    """Returns the instructions that belong to the chosen messages: another place may hold them inside its messages."""
    chosen = min((p for p in partials if p.messages is not None), key=lambda p: rank(p.messages), default=None)  # type: ignore[arg-type]
    if chosen is not None:
        return chosen.system
    return min((p.system for p in partials if p.system is not None), key=rank, default=None)


def _merge_params(maps: Iterable[Mapping[str, Found[Json]]], rank: Rank) -> dict[str, Found[Json]]:
    merged: dict[str, Found[Json]] = {}
    for params in maps:
        for name, found in params.items():
            if name not in merged or rank(found) < rank(merged[name]):
                merged[name] = found
    return merged
