"""Whether the model stayed the same while an experiment ran: its early and late answers to the unchanged request.

Costs nothing of its own: it watches the control draws that an experiment makes anyway. What it finds is a warning, for
a comparison of draws from two models says nothing about the request.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .statistics.evalues import two_sided_e_value

KEPT = 400
"""Control draws remembered from the beginning, and as many from the end."""
ALARM = 20.0
"""E-value from which the rates of the two halves count as different: a false alarm has a chance of at most 1/20."""


@dataclass(frozen=True, slots=True)
class _Seen:
    is_target: bool
    model: str


@dataclass
class DriftGuard:
    """Compares the first control draws with the last ones."""

    _first: list[_Seen] = field(default_factory=list)
    _last: deque[_Seen] = field(default_factory=lambda: deque(maxlen=KEPT))

    def note(self, *, is_target: bool, model: str) -> None:
        """Takes one control draw, in the order in which they were made."""
        seen = _Seen(is_target, model)
        if len(self._first) < KEPT:
            self._first.append(seen)
        else:
            self._last.append(seen)

    def warnings(self) -> Iterator[str]:
        """Yields what looks like another model, in words that quote nothing."""
        seen = [*self._first, *self._last]
        early, late = seen[: len(seen) // 2], seen[len(seen) // 2 :]
        models = dict.fromkeys(s.model for s in seen if s.model)
        if len(models) > 1:
            yield f"several models answered ({', '.join(models)}): pin one, or its provider behind a router"
        a, b = (sum(s.is_target for s in half) for half in (early, late))
        if two_sided_e_value((b, len(late)), (a, len(early))) >= ALARM:
            yield (
                f"the decision's rate changed while this ran, from {a} of {len(early)} to {b} of {len(late)}: "
                "the model behind the endpoint may have been changed"
            )
