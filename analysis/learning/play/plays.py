"""Plays: one run of a case each, which is a run of an agent like any other, so that `why` and every query work on it.

Ids are deterministic, so a play that is done again after a crash writes the same spans, which changes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....ingest import conventions as names
from ....ingest.calls import Body, Json
from ....ingest.spans import AnyValue, Resource, Span, SpanEvent, SpanId, TraceId
from ...canonical import canonical_json, digest
from ...claims import span_id_of
from ..scenarios.scenario import ScenarioCase
from ..scoring.scores import Score
from .exchanges import RUN_SCOPE, Exchange, Parent, chat_spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One run of a case: what was asked, what came, what it is worth."""

    scenario: str
    epoch: str
    case: ScenarioCase
    bundle: str
    """Id of the lessons that were served."""
    exchanges: tuple[Exchange, ...]
    """Its model calls, at least one."""
    sample: int
    score: Score
    generation: int | None = None
    variables: Mapping[str, Json] = field(default_factory=dict)
    simulation: str = ""

    @property
    def request(self) -> Body:
        """What was asked first."""
        return self.exchanges[0].request

    @property
    def text(self) -> str:
        """What was answered last."""
        return self.exchanges[-1].text

    @property
    def said(self) -> str:
        """All answers, one below the other."""
        return "\n".join(exchange.text for exchange in self.exchanges)

    @property
    def costs_usd(self) -> list[float | None]:
        """What its model calls cost each; None where that is not known."""
        return [e.stored.completion.usage.cost_usd for e in self.exchanges]

    @property
    def trace_id(self) -> TraceId:
        """Deterministic: the same play is the same trace."""
        parts = [self.scenario, self.epoch, self.case.id, digest(self.request), self.bundle, self.sample]
        parts += [canonical_json(dict(self.variables)), self.simulation]
        return TraceId(digest(["play", *parts])[:32])


def play_spans(play: Play) -> list[Span]:
    """Returns the spans of a play: the run, its model calls, its evaluation with what a judge was asked."""
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
    said: dict[str, AnyValue] = {
        "gen_ai.evaluation.name": "score",
        "gen_ai.evaluation.score.value": play.score.score,
        "gen_ai.evaluation.explanation": "\n".join(play.score.feedback),
    }
    start, end = play.exchanges[0].stored.start_ns, play.exchanges[-1].stored.end_ns
    run = _span(play, "run", f"run {play.scenario}", attributes, start, end)
    judged = max((end, *(e.stored.end_ns for e in play.score.judged)))
    evaluation = _span(play, "evaluate", "evaluate score", {"gen_ai.operation.name": "evaluate"}, end, judged)
    event = SpanEvent(time_ns=end, name=names.EVALUATION_EVENT, attributes=said)
    return [
        run,
        *chat_spans(Parent(trace_id=play.trace_id, span_id=run.span_id, service=play.scenario), play.exchanges),
        replace(evaluation, events=(event,)),
        *chat_spans(Parent(trace_id=play.trace_id, span_id=evaluation.span_id), play.score.judged),
    ]


def _span(play: Play, word: str, name: str, attributes: Mapping[str, AnyValue], start_ns: int, end_ns: int) -> Span:
    """Returns a span of a play; all others lie in the one called `run`."""
    return Span(
        trace_id=play.trace_id,
        span_id=SpanId(span_id_of(word, play.trace_id)),
        parent_span_id=None if word == "run" else SpanId(span_id_of("run", play.trace_id)),
        name=name,
        start_ns=start_ns,
        end_ns=end_ns,
        attributes=attributes,
        resource=Resource(attributes={"service.name": play.scenario}),
        scope=RUN_SCOPE,
    )


def all_spans(plays: Sequence[Play]) -> list[Span]:
    """Returns the spans of plays."""
    return [span for play in plays for span in play_spans(play)]
