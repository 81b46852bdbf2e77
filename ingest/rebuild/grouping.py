"""Which spans are one and the same model call.

Wrappers, SDKs and frameworks instrument the same request several times: nested, side by side, or a second time when a
stream ends. Two spans are one call when they name the same response, when one encloses only the other, or when two
instrumentations report the same model over the same time under one parent.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..dialects.partial import PartialCall, Role
from ..spans import Span, SpanId, TraceId
from .merging import merge_nested
from .reading import Key, Reading


@dataclass(frozen=True, slots=True)
class Draft:
    """One model call before repair: the span that stands for it, and everything its spans say."""

    span: Span
    partial: PartialCall
    members: tuple[Reading, ...]
    """The spans of the call, the one nearest to the wire first."""


class Tree:
    """The recognised spans of some traces, with the ways between them."""

    def __init__(self, spans: Iterable[Span], readings: Sequence[Reading]) -> None:
        self._parents: dict[Key, SpanId | None] = {(s.trace_id, s.span_id): s.parent_span_id for s in spans}
        self._readings: Mapping[Key, Reading] = {r.key: r for r in readings}
        self._depths: dict[Key, int] = {}

    def ancestors(self, span: Span) -> Iterator[Reading]:
        """Yields the recognised spans above a span, nearest first."""
        seen = {span.span_id}
        parent = span.parent_span_id
        while parent is not None and parent not in seen:
            seen.add(parent)
            key = (span.trace_id, parent)
            if key in self._readings:
                yield self._readings[key]
            parent = self._parents.get(key)

    def depth(self, span: Span) -> int:
        """Returns the number of recognised spans above a span."""
        key = span.trace_id, span.span_id
        if key not in self._depths:
            self._depths[key] = sum(1 for _ in self.ancestors(span))
        return self._depths[key]


def group_calls(readings: Sequence[Reading], tree: Tree) -> list[Draft]:
    """Returns one draft a model call, in start order."""
    calls = [r for r in readings if r.role is Role.CALL]
    beside = _beside(calls, [r for r in readings if r.role in (Role.ECHO, Role.PREPARATION)])
    calls += [r for r in readings if r.role is Role.ECHO and r.key not in beside]
    enclosing = {c.key: _enclosing_call(c, tree) for c in calls}
    children: dict[Key, list[Reading]] = {}
    for call in calls:
        outer = enclosing[call.key]
        if outer is not None:
            children.setdefault(outer.key, []).append(call)
    distinct = {key for key, inner in children.items() if _are_distinct(inner)}
    kept = [c for c in calls if c.key not in distinct]
    union = _Union([c.key for c in kept])
    for call in kept:
        outer = enclosing[call.key]
        if outer is not None and outer.key not in distinct:
            union.join(call.key, outer.key)
    _join_same_response(kept, union)
    _join_side_by_side(kept, union)
    members: dict[Key, list[Reading]] = {}
    for call in kept:
        group = members.setdefault(union.root(call.key), [])
        group += [call, *(r for r, owner in beside.values() if owner is call)]
    drafts = [_draft(group, tree) for group in members.values()]
    return sorted(drafts, key=lambda d: (d.span.start_ns, d.span.end_ns))


def _beside(calls: Sequence[Reading], others: Sequence[Reading]) -> dict[Key, tuple[Reading, Reading]]:
    """Returns for each preparation the call after it, for each echo the call before it, under the same parent."""
    by_parent: dict[tuple[TraceId, SpanId | None], list[Reading]] = {}
    for call in calls:
        by_parent.setdefault((call.span.trace_id, call.span.parent_span_id), []).append(call)
    found: dict[Key, tuple[Reading, Reading]] = {}
    for other in others:
        siblings = by_parent.get((other.span.trace_id, other.span.parent_span_id), ())
        start_ns = other.span.start_ns
        if other.role is Role.ECHO:
            owner = max((c for c in siblings if c.span.start_ns <= start_ns), key=_start, default=None)
        else:
            owner = min((c for c in siblings if c.span.start_ns >= start_ns), key=_start, default=None)
        if owner is not None:
            found[other.key] = (other, owner)
    return found


def _start(reading: Reading) -> int:
    return reading.span.start_ns


def _enclosing_call(call: Reading, tree: Tree) -> Reading | None:
    above = next(tree.ancestors(call.span), None)
    while above is not None and above.role is Role.TRANSPORT:
        above = next(tree.ancestors(above.span), None)
    return above if above is not None and above.role is Role.CALL else None


def _are_distinct(inner: Sequence[Reading]) -> bool:
    """Tells whether calls under one call are requests of their own: a retry, a loop inside a model wrapper."""
    ordered = sorted(inner, key=lambda c: c.span.start_ns)
    return any(b.span.start_ns >= a.span.end_ns for a, b in itertools.pairwise(ordered)) and (
        len({c.partial.response_id.value if c.partial.response_id else c.key for c in inner}) > 1
    )


def _join_same_response(calls: Sequence[Reading], union: "_Union") -> None:
    first: dict[tuple[TraceId, str], Key] = {}
    for call in calls:
        if call.partial.response_id is not None:
            key = call.key
            union.join(key, first.setdefault((call.span.trace_id, call.partial.response_id.value), key))


def _join_side_by_side(calls: Sequence[Reading], union: "_Union") -> None:
    by_parent: dict[tuple[TraceId, SpanId | None], list[Reading]] = {}
    for call in calls:
        by_parent.setdefault((call.span.trace_id, call.span.parent_span_id), []).append(call)
    for (_, parent), siblings in by_parent.items():
        if parent is None:
            continue
        for i, one in enumerate(siblings):
            for other in siblings[i + 1 :]:
                if other.span.start_ns > one.span.end_ns:
                    break
                if _is_same_exchange(one, other):
                    union.join(one.key, other.key)


def _is_same_exchange(one: Reading, other: Reading) -> bool:
    if one.span.scope.name == other.span.scope.name:
        return False
    ids = [r.partial.response_id for r in (one, other)]
    if all(ids):
        return False
    models = {r.partial.model.value for r in (one, other) if r.partial.model is not None}
    inside = one.span.end_ns >= other.span.end_ns or one.span.start_ns == other.span.start_ns
    return len(models) == 1 and inside


def _draft(group: Sequence[Reading], tree: Tree) -> Draft:
    nearest = sorted(group, key=lambda r: (r.role is not Role.CALL, -tree.depth(r.span), r.span.start_ns))
    merged = merge_nested([r.partial for r in nearest])
    content = merged.body or merged.messages
    holder = next((r for r in nearest if content in (r.partial.body, r.partial.messages)), None) if content else None
    chosen = holder or min(group, key=lambda r: tree.depth(r.span))
    return Draft(chosen.span, merged, tuple(nearest))


class _Union:
    """Disjoint sets."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._up: dict[Key, Key] = {key: key for key in keys}

    def root(self, key: Key) -> Key:
        while self._up[key] != key:
            self._up[key] = key = self._up[self._up[key]]
        return key

    def join(self, one: Key, other: Key) -> None:
        self._up[self.root(one)] = self.root(other)
