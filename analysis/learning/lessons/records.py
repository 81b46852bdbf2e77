"""What learning runs leave in the store besides plays: a trace a run, with its generations, roles and a claim a lesson.

Ids are deterministic, so a run that is continued after a crash writes the same spans again, which changes nothing.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ....ingest import conventions as names
from ....ingest.spans import AnyValue, Span, SpanId, TraceId
from ...canonical import digest
from ...claims import Verdict, span_id_of
from ...evaluation import Evaluation
from ...records import RESOURCE, SCOPE
from ...statistics.logarithms import from_log
from ..scenarios.scenario import Scenario
from .gate import Decision, Measurement, Strategy
from .lesson import Lesson

_VERDICTS = {
    Decision.ADMITTED: Verdict.SUPPORTED,
    Decision.REFUTED: Verdict.HARMFUL,
    Decision.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a span of a learning run belongs, and when it was."""

    run: str
    start_ns: int
    end_ns: int

    @property
    def trace_id(self) -> TraceId:
        """The trace of the run."""
        return TraceId(hashlib.sha256(f"learning\0{self.run}".encode()).hexdigest()[:32])

    def span_id(self, name: str) -> SpanId:
        """Id of the span of that name."""
        return SpanId(span_id_of("learning", self.run, name))


def learning_span(place: Place, kind: str, name: str, attributes: Mapping[str, AnyValue], *, parent: str = "") -> Span:
    """Returns a span of a learning run; `parent` is the name of the span that it lies in."""
    return Span(
        trace_id=place.trace_id,
        span_id=place.span_id(name),
        parent_span_id=place.span_id(parent) if parent else None,
        name=name,
        start_ns=place.start_ns,
        end_ns=place.end_ns,
        attributes={names.KIND: kind, names.LEARNING_RUN_ID: place.run, **attributes},
        resource=RESOURCE,
        scope=SCOPE,
    )


def lesson_claim_id(scenario: Scenario, lesson: Lesson) -> str:
    """Returns the id of the claim about a lesson, 64 hex digits: measuring again updates the same claim."""
    return digest(["lesson", scenario.name, scenario.epoch, lesson.id])


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A lesson with what was measured and decided."""

    lesson: Lesson
    measured: Measurement
    decision: Decision
    rates: tuple[float, float]
    """Mean scores without and with it, over the cases asked this time; not a number when there were none."""


def finding_span(scenario: Scenario, found: Finding, strategy: Strategy, place: Place, *, parent: str) -> Span:
    """Returns the claim of a lesson about the population of cases."""
    measured, (low, high) = found.measured, found.measured.interval
    claim = lesson_claim_id(scenario, found.lesson)
    evaluation = _evaluation(claim, found)
    attributes: dict[str, AnyValue] = {
        **evaluation.attributes,
        "gen_ai.operation.name": "evaluate",
        names.SCENARIO: scenario.name,
        names.EPOCH: scenario.epoch,
        names.STRATEGY: strategy.value,
        names.CLAIM_ID: claim,
        names.CLAIM_KIND: "lesson",
        names.CLAIM_SCOPE: "population",
        names.CLAIM_VERDICT: _VERDICTS[found.decision].value,
        names.CLAIM_SUBJECT: found.lesson.text,
        names.CLAIM_EFFECT: measured.effect,
        names.CLAIM_BASE_RATE: found.rates[0],
        names.CLAIM_BASE_N: len(measured.blocks),
        names.CLAIM_RATE: found.rates[1],
        names.CLAIM_N: len(measured.blocks),
        names.CLAIM_INTERVAL_LOW: low,
        names.CLAIM_INTERVAL_HIGH: high,
        names.CLAIM_E_VALUE: from_log(measured.log_help),
        names.CLAIM_ALPHA: 1 / measured.needed,
        names.LESSON_ID: found.lesson.id,
        names.LESSON_NUMBER: measured.number,
        names.LESSON_DECISION: found.decision.value,
        names.LESSON_HELDOUT: len(measured.heldout),
    }
    known = {key: value for key, value in attributes.items() if value == value}  # Not a number: nothing was measured.
    span = learning_span(place, names.KIND_CLAIM, f"lesson {found.lesson.id[:12]}", known, parent=parent)
    return replace(span, events=(evaluation.event(place.end_ns),))


def _evaluation(claim: str, found: Finding) -> Evaluation:
    measured, (low, high) = found.measured, found.measured.interval
    explanation = (
        f"{found.decision.value}: effect {measured.effect:+.2f} [{low:+.2f}, {high:+.2f}] over {len(measured.blocks)} "
        f"cases, e-value {from_log(measured.log_help):.3g} of {measured.needed:.3g}"
    )
    verdict = _VERDICTS[found.decision].value
    return Evaluation(
        claim_id=claim, name="whyspan.lesson_effect", score=measured.effect, label=verdict, explanation=explanation
    )
