"""From results to another back end: through the outbox, again after failures, and read back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...ingest.errors import UpstreamError
from .delivery import Delivery, Target
from .outbox import Outbox, State
from .results import Result

READ_BACK_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses before each attempt to read back: Langfuse shows a score only some seconds after taking it."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of a write-back."""

    sent: int = 0
    known: int = 0
    """The other side had them already, with the same content."""
    skipped: int = 0
    """Optional, and the other side has no place for them: log events, mostly."""
    refused: list[str] = field(default_factory=list)
    """Why, one line a delivery."""
    verified: int = 0
    lost: int = 0
    """Taken by the other side and not there when read back."""
    unreadable: int = 0
    """The other side gives nothing back."""


def write_back(target: Target, name: str, results: Sequence[Result], outbox: Outbox) -> Outcome:
    """Sends results, and whatever earlier runs left in the outbox for this target.

    Raises UpstreamError when the target cannot be reached: what is not sent stays in the outbox.
    """
    key = f"{name} {target.base_url}"
    added = outbox.add(key, target.deliveries(results))
    outcome = Outcome(known=added.known)
    waiting = outbox.waiting(key)
    for delivery in waiting:
        try:
            is_taken = target.send(delivery)
        except UpstreamError as error:
            if error.transient:
                left = len(waiting) - outcome.sent - outcome.skipped - len(outcome.refused)
                raise UpstreamError(
                    error.message, hint=f"{left} stay in the outbox and go with the next write-back", transient=True
                ) from error
            outbox.mark(key, delivery, State.REFUSED, error.message)
            outcome.refused.append(error.message)
        else:
            outbox.mark(key, delivery, State.SENT)
            outcome.sent += is_taken
            outcome.skipped += not is_taken
    return outcome


def verify(
    target: Target,
    results: Sequence[Result],
    outcome: Outcome,
    *,
    sleep: Callable[[float], None] = time.sleep,
    pauses_s: Sequence[float] = READ_BACK_S,
) -> None:
    """Reads every delivery of the results back, and adds to the outcome what is there and what is not."""
    for delivery in target.deliveries(results):
        match _read_back(target, delivery, sleep, pauses_s):
            case True:
                outcome.verified += 1
            case False:
                outcome.lost += 1
            case None:
                outcome.unreadable += 1


def _read_back(
    target: Target, delivery: Delivery, sleep: Callable[[float], None], pauses_s: Sequence[float]
) -> bool | None:
    for pause in pauses_s:
        sleep(pause)
        there = target.is_there(delivery)
        if there is not False:
            return there
    return False
