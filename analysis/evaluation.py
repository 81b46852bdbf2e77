"""A verdict as other tools read it: the post-hoc evaluation of OpenInference, the evaluation event of OpenTelemetry."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..ingest import conventions as names
from ..ingest.spans import AnyValue, SpanEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a claim's span says to tools that do not know claims."""

    claim_id: str
    name: str
    score: float
    label: str
    explanation: str
    """In one sentence that quotes nothing of the trace."""

    @property
    def attributes(self) -> Mapping[str, AnyValue]:
        """Attributes of the span, of kind EVALUATOR."""
        return {
            "openinference.span.kind": "EVALUATOR",
            "evaluations.0.evaluation.name": self.name,
            "evaluations.0.evaluation.score": self.score,
            "evaluations.0.evaluation.label": self.label,
            "evaluations.0.evaluation.explanation": self.explanation,
            "evaluations.0.evaluation.annotator_kind": "CODE",
            "evaluations.0.evaluation.identifier": self.claim_id,
        }

    def event(self, time_ns: int) -> SpanEvent:
        """Returns the span's event."""
        return SpanEvent(
            time_ns=time_ns,
            name=names.EVALUATION_EVENT,
            attributes={
                names.CLAIM_ID: self.claim_id,
                "gen_ai.evaluation.name": self.name,
                "gen_ai.evaluation.score.value": self.score,
                "gen_ai.evaluation.score.label": self.label,
                "gen_ai.evaluation.explanation": self.explanation,
            },
        )
