"""What a scenario's runs leave in the store: a trace a play, a trace a learning run, a claim a lesson.

A play is an agent run like any other: `whyspan why` and every query work on it. Ids are deterministic, so a run that
is continued after a crash writes the same spans again, which changes nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ... import __version__
from ...ingest import conventions as names
from ...ingest.calls import Api, Body, Json
from ...ingest.spans import AnyValue, Resource, Scope, Span, SpanEvent, SpanId, SpanKind, TraceId
from ..canonical import canonical_json, digest
from ..claims import Verdict, span_id_of
from ..records import RESOURCE, SCOPE
from ..replay.reply_store import StoredReply
from ..statistics.logarithms import from_log
from .evaluators import Score
from .gate import Decision, Measurement, Strategy
from .lessons import Lesson
from .scenario import Scenario, ScenarioCase

RUN_SCOPE = Scope(name=names.RUN_SCOPE, version=__version__)
_VERDICTS = {
    Decision.ADMITTED: Verdict.SUPPORTED,
    Decision.REFUTED: Verdict.HARMFUL,
    Decision.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One run of a case: what was asked, what came, what it is worth."""

    scenario: str
    epoch: str
    case: ScenarioCase
    bundle: str
    """Id of the lessons that were served."""
    api: Api
    provider: str
    request: Body
    stored: StoredReply
    score: Score
    cached: bool
    """The reply was paid for before."""
    generation: int | None = None
    variables: Mapping[str, Json] = field(default_factory=dict)
    simulation: str = ""

    @property
    def trace_id(self) -> TraceId:
        """Deterministic: the same play is the same trace."""
        parts = [self.scenario, self.epoch, self.case.id, digest(self.request), self.bundle, self.stored.sample]
        parts += [canonical_json(dict(self.variables)), self.simulation]
        return TraceId(digest(["play", *parts])[:32])


def play_spans(play: Play) -> list[Span]:
    """Returns the spans of a play: the run, its model call, its evaluation."""
    stored = play.stored
    attributes: dict[str, AnyValue] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": play.scenario,
        names.SCENARIO: play.scenario,
        names.RUN_CASE: play.case.name,
        names.EPOCH: play.epoch,
        names.RUN_SCORE: play.score.score,
        names.RUN_METRICS: json.dumps(dict(play.score.metrics)),
        names.RUN_VARIABLES: json.dumps(dict(play.variables)),
    }
    if play.generation is not None:
        attributes[names.GENERATION] = play.generation
    if play.simulation:
        attributes[names.SIMULATION_ID] = play.simulation
    chat = f"chat {play.request.get('model', '')}"
    end = stored.end_ns
    said: dict[str, AnyValue] = {
        "gen_ai.evaluation.name": "score",
        "gen_ai.evaluation.score.value": play.score.score,
        "gen_ai.evaluation.explanation": "\n".join(play.score.feedback),
    }
    evaluation = _span(play, "evaluate", "evaluate score", {"gen_ai.operation.name": "evaluate"}, start_ns=end)
    return [
        _span(play, "run", f"run {play.scenario}", attributes, start_ns=stored.start_ns),
        replace(_span(play, "chat", chat, _call_attributes(play), start_ns=stored.start_ns), kind=SpanKind.CLIENT),
        replace(evaluation, events=(SpanEvent(time_ns=end, name=names.EVALUATION_EVENT, attributes=said),)),
    ]


def _span(play: Play, word: str, name: str, attributes: Mapping[str, AnyValue], *, start_ns: int) -> Span:
    """Returns a span of a play; all others lie in the one called `run`."""
    return Span(
        trace_id=play.trace_id,
        span_id=SpanId(span_id_of(word, play.trace_id)),
        parent_span_id=None if word == "run" else SpanId(span_id_of("run", play.trace_id)),
        name=name,
        start_ns=start_ns,
        end_ns=play.stored.end_ns,
        attributes=attributes,
        resource=Resource(attributes={"service.name": play.scenario}),
        scope=RUN_SCOPE,
    )


def _call_attributes(play: Play) -> dict[str, AnyValue]:
    reply, usage = play.stored.completion.reply, play.stored.completion.usage.to_json()
    parts: list[Json] = [{"type": "text", "content": reply.text}] if reply.text else []
    parts += [{"type": "tool_call", "name": c.name, "arguments": c.arguments, "id": c.id} for c in reply.tool_calls]
    said = [{"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": play.provider,
        "gen_ai.request.model": str(play.request.get("model", "")),
        "gen_ai.output.messages": json.dumps(said, ensure_ascii=False),
        names.RECORD_REQUEST: json.dumps(dict(play.request), ensure_ascii=False),
        **{f"gen_ai.usage.{k}": v for k, v in usage.items() if k in ("input_tokens", "output_tokens")},
        **({"gen_ai.usage.cost": usage["cost_usd"]} if "cost_usd" in usage else {}),
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


def learning_span(place: Place, kind: str, name: str, attributes: Mapping[str, AnyValue], *, parent: str = "") -> Span:
    """Returns a span of a learning run; `parent` is the name of the span that it lies in."""
    return Span(
        trace_id=place.trace_id,
        span_id=SpanId(span_id_of("learning", place.run, name)),
        parent_span_id=SpanId(span_id_of("learning", place.run, parent)) if parent else None,
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
    attributes: dict[str, AnyValue] = {
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
    return learning_span(place, names.KIND_CLAIM, f"lesson {found.lesson.id[:12]}", known, parent=parent)


def all_spans(plays: Sequence[Play]) -> list[Span]:
    """Returns the spans of plays."""
    return [span for play in plays for span in play_spans(play)]
