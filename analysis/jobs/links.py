"""Known causes: a decision whose request holds a text that was the cause of the same outcome is linked, not explained.

That is a reason not to spend replays, and no claim: nothing is said about the linked decision but where to look.
"""

from dataclasses import dataclass, field

from ...ingest.store import Store
from ...ingest.store.querying import run_query
from ..cases import Case
from ..segments import fold
from ..sightings import texts_of

MIN_TEXT = 20
"""Shorter causes are in too many requests to say anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The decision that was explained."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCause:
    """A text whose removal is known to stop an outcome of a service."""

    service: str
    target: str
    text: str
    place: Place


@dataclass
class Known:
    """What has been explained so far."""

    causes: list[KnownCause] = field(default_factory=list)

    def cause_in(self, case: Case) -> KnownCause | None:
        """Returns a cause whose text the request holds, of the same outcome and service."""
        mine = [c for c in self.causes if c.service == case.origin.service and c.target == case.target.spec]
        if not mine:
            return None
        read = fold(" ".join(texts_of(case.request)))
        return next((c for c in mine if c.text in read), None)

    def add_cause(self, case: Case, text: str) -> None:
        """Adds the cause that was found for a case."""
        folded = fold(text)
        if len(folded) >= MIN_TEXT:
            place = Place(trace_id=case.origin.trace_id, span_id=case.origin.span_id)
            self.causes.append(
                KnownCause(service=case.origin.service, target=case.target.spec, text=folded, place=place)
            )


def load_known(store: Store, *, before_ns: int) -> Known:
    """Returns what the claims of a store say, as it stood at a time (Unix ns).

    A run that goes on after it was killed must link the same decisions as if it had not been.
    """
    query = """SELECT c.decision_trace_id, c.decision_span_id, c.target, c.subject, s.service
FROM claims AS c LEFT JOIN spans AS s ON s.trace_id = c.decision_trace_id AND s.span_id = c.decision_span_id
WHERE c.kind = 'cause' AND c.verdict = 'supported' AND c.subject IS NOT NULL AND epoch_ns(c.started) < ?
ORDER BY c.started, c.claim_id"""
    known = Known()
    for trace_id, span_id, target, subject, service in run_query(store, query, [before_ns]).rows:
        place, text = Place(trace_id=trace_id, span_id=span_id), fold(subject)
        if len(text) >= MIN_TEXT:
            known.causes.append(KnownCause(service=service or "", target=target, text=text, place=place))
    return known
