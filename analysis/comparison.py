"""Two runs side by side: what both did, where they part, and what the one had read there that the other had not."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from ..ingest.calls import Json, ModelCall, ModelReply
from .canonical import canonical_arguments
from .segments import Segment, fold, segment
from .waterfall import outcome_words

WIDTH = 100
"""Characters of a step's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A model call of a run, by what it did."""

    number: int
    """N of `#N`."""
    words: str
    """Its outcome for people."""
    key: str
    """Equal for two calls that did the same: tools with their arguments, formatting aside; any text is as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A place in the alignment; both sides when they did the same there."""

    left: Step | None
    right: Step | None

    @property
    def is_same(self) -> bool:
        """Both runs did this."""
        return self.left is not None and self.right is not None and self.left.key == self.right.key


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDifference:
    """What differs in what two calls read, in reading order."""

    only_left: tuple[Segment, ...]
    only_right: tuple[Segment, ...]
    parameters: tuple[tuple[str, Json, Json], ...]
    """(name, left, right) of the request's other fields that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, aligned."""

    pairs: tuple[Pair, ...]
    parting: tuple[ModelCall, ModelCall] | None
    """The first calls that did not do the same; None when one run is the beginning of the other, or both are alike."""
    context: ContextDifference | None
    """How their requests differ; None without a parting."""


def compare_runs(left: Sequence[ModelCall], right: Sequence[ModelCall]) -> Comparison:
    """Returns two runs, aligned by what their model calls did."""
    one, other = _steps(left), _steps(right)
    matcher = difflib.SequenceMatcher(a=[s.key for s in one], b=[s.key for s in other], autojunk=False)
    pairs: list[Pair] = []
    parting: tuple[ModelCall, ModelCall] | None = None
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            pairs += [Pair(left=s, right=t) for s, t in zip(one[a0:a1], other[b0:b1], strict=True)]
            continue
        if parting is None and a0 < len(left) and b0 < len(right):
            parting = (left[a0], right[b0])
        pairs += [Pair(left=s, right=None) for s in one[a0:a1]]
        pairs += [Pair(left=None, right=t) for t in other[b0:b1]]
    return Comparison(pairs=tuple(pairs), parting=parting, context=compare_contexts(*parting) if parting else None)


def compare_contexts(left: ModelCall, right: ModelCall) -> ContextDifference:
    """Returns what one request holds and the other does not; a text that is in both counts wherever it stands."""
    one = segment(left.api, left.request).segments
    other = segment(right.api, right.request).segments
    mine, theirs = {fold(s.text) for s in one}, {fold(s.text) for s in other}
    return ContextDifference(
        only_left=tuple(s for s in one if fold(s.text) not in theirs),
        only_right=tuple(s for s in other if fold(s.text) not in mine),
        parameters=tuple(
            (name, left.request.get(name), right.request.get(name))
            for name in sorted({*left.request, *right.request})
            if _is_parameter(left.request.get(name), right.request.get(name))
        ),
    )


def _is_parameter(left: Json, right: Json) -> bool:
    return left != right and not isinstance(left, list) and not isinstance(right, list)


def _steps(calls: Sequence[ModelCall]) -> list[Step]:
    return [
        Step(
            number=n,
            words=_words(call.replies[0]) if call.replies else "reply not recorded",
            key=_key(call),
        )
        for n, call in enumerate(calls, 1)
    ]


def _words(reply: ModelReply) -> str:
    """The outcome, and of a single tool call the arguments: they may be all that differs."""
    words = outcome_words(reply)
    return f"{words} {reply.tool_calls[0].arguments}"[:WIDTH] if len(reply.tool_calls) == 1 else words


def _key(call: ModelCall) -> str:
    if not call.replies:
        return f"unknown {call.span_id}"
    reply = call.replies[0]
    if reply.error:
        return "error"
    return "\n".join(sorted(f"{c.name} {canonical_arguments(c.arguments)}" for c in reply.tool_calls)) or "says"
