"""Scores, annotations and feedback of other back ends, as OpenTelemetry evaluation events.

The log event `gen_ai.evaluation.result` is what the GenAI conventions have for a verdict about a span; agents may send
such events themselves. The view `scores` reads them, the latest of each score.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import conventions as names
from ..spans import AnyValue, LogRecord, Resource, Scope, SpanId, TraceId
from .times import format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One verdict about a trace, a span or a session."""

    origin: str
    """The back end: `langfuse`, `phoenix`, `mlflow`."""
    id: str
    """The back end's id: of several scores with one id the one updated last counts."""
    name: str
    value: float | None = None
    label: str | None = None
    comment: str | None = None
    data_type: str = ""
    """In the back end's words: NUMERIC, CATEGORICAL, …"""
    judge: str = ""
    """Kind of judge, in the back end's words: API, ANNOTATION, HUMAN, LLM, CODE, …"""
    author: str = ""
    trace_id: TraceId | None = None
    span_id: SpanId | None = None
    session_id: str = ""
    time_ns: int
    updated_ns: int
    more: Mapping[str, AnyValue] = field(default_factory=dict)
    """Whatever else the back end says, under names of its own."""

    @property
    def is_own(self) -> bool:
        """Whether whyspan wrote it."""
        return self.name.startswith(names.SCOPE_NAME + ".")


def score_event(score: Score) -> LogRecord:
    """Returns the evaluation event of a score."""
    attributes: dict[str, AnyValue] = {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": score.label,
        "gen_ai.evaluation.explanation": score.comment,
        names.SCORE_ID: score.id,
        names.SCORE_UPDATED: format_time(score.updated_ns),
        names.SCORE_TYPE: score.data_type,
        names.SCORE_JUDGE: score.judge,
        names.SCORE_AUTHOR: score.author,
        "session.id": score.session_id,
        **score.more,
    }
    return LogRecord(
        trace_id=score.trace_id,
        span_id=score.span_id,
        time_ns=score.time_ns,
        observed_time_ns=score.updated_ns,
        event_name=names.EVALUATION_EVENT,
        attributes={key: value for key, value in attributes.items() if value not in (None, "")},
        resource=Resource(attributes={"service.name": score.origin}),
        scope=Scope(name=f"whyspan.import.{score.origin}"),
    )
