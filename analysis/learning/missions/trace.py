"""The trace of a mission, which is its checkpoint: what it has done and taken so far, and the spans of what it does.

A finished span is never changed: each attempt at a step is a span, and so is each time that the mission stops.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....ingest import conventions as names
from ....ingest.errors import NotFoundError
from ....ingest.spans import AnyValue, Span, SpanId, StatusCode, TraceId
from ....ingest.store import Store
from ...claims import span_id_of
from ...policy import Taken
from ...records import RESOURCE, SCOPE
from ..play.exchanges import Exchange, Parent, chat_spans
from .mission import Mission, Step, inputs_digest
from .verifiers import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a step."""

    step: Step
    inputs: Mapping[str, str]
    exchange: Exchange
    verdict: Verdict
    start_ns: int
    answered_ns: int
    """When the answer was there, and its verification began."""


class MissionTrace:
    """The spans of one mission, as it is carried out once more."""

    def __init__(self, mission: Mission, store: Store) -> None:
        self.trace_id = trace_of(mission.name)
        self._mission = mission
        self._store = store
        self._started = time.time_ns()
        self._root = SpanId(span_id_of("mission", self.trace_id, str(self._started)))
        self._earlier = store.spans(self.trace_id)

    def passed(self, step: Step, inputs: Mapping[str, str]) -> str | None:
        """Returns the output of the latest attempt that has passed for the same task and inputs."""
        wanted = {
            names.KIND: names.KIND_STEP,
            names.STEP: step.id,
            names.STEP_TASK: self._mission.task_digest(step),
            names.STEP_INPUTS: inputs_digest(inputs),
            names.VERIFIED: True,
        }
        found = [s for s in self._earlier if all(s.attributes.get(k) == v for k, v in wanted.items())]
        return str(max(found, key=lambda s: s.end_ns).attributes[names.STEP_OUTPUT]) if found else None

    def spent(self) -> Taken:
        """Returns what the mission has taken until it was opened here, in all the times that it was carried out."""
        return _spent(self._earlier)

    def record(self, attempt: Attempt) -> None:
        """Writes an attempt: the step, its model call, its verifier, and what a judge was asked."""
        step, verdict, now = attempt.step, attempt.verdict, time.time_ns()
        task, inputs = self._mission.task_digest(step), inputs_digest(attempt.inputs)
        own = SpanId(span_id_of("step", self.trace_id, step.id, task, inputs, str(attempt.start_ns)))
        check = SpanId(span_id_of("verify", own))
        attributes: dict[str, AnyValue] = {
            names.KIND: names.KIND_STEP,
            names.STEP: step.id,
            names.STEP_TASK: task,
            names.STEP_INPUTS: inputs,
            names.STEP_OUTPUT: attempt.exchange.text,
            names.VERIFIED: verdict.passed,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": step.id,
        }
        said: dict[str, AnyValue] = {
            names.KIND: names.KIND_VERIFIER,
            names.STEP: step.id,
            names.VERIFIED: verdict.passed,
            names.MISSION_NOTE: verdict.message,
            "gen_ai.operation.name": "evaluate",
        }
        agent = Parent(trace_id=self.trace_id, span_id=own, service=self._mission.name)
        self._store.write(
            [
                self._span(own, self._root, f"step {step.id}", attributes, attempt.start_ns, now),
                *chat_spans(agent, [attempt.exchange]),
                self._span(check, own, f"verify {step.id}", said, attempt.answered_ns, now),
                *chat_spans(Parent(trace_id=self.trace_id, span_id=check), verdict.judged),
            ]
        )

    def record_stop(self, status: str, note: str) -> None:
        """Writes that the mission has stopped, with what it has taken in all."""
        now = time.time_ns()
        spans = self._store.spans(self.trace_id)
        passed = {s.attributes[names.STEP] for s in spans if s.attributes.get(names.VERIFIED) is True}
        attributes: dict[str, AnyValue] = {
            names.KIND: names.KIND_MISSION,
            names.MISSION_STATUS: status,
            names.MISSION_STEPS: len(self._mission.steps),
            names.MISSION_PASSED: len(passed),
            names.MISSION_NOTE: note,
            names.MISSION_FILE: str(self._mission.path),
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.agent.name": self._mission.name,
        }
        span = self._span(self._root, None, f"mission {self._mission.name}", attributes, self._started, now)
        spent = _spent([*spans, span])
        total: dict[str, AnyValue] = {
            names.MISSION_CALLS: spent.calls, names.MISSION_TOKENS: spent.tokens,
            names.MISSION_SECONDS: spent.seconds, names.MISSION_COST_USD: spent.usd,
        }  # fmt: skip
        self._store.write([replace(span, attributes={**span.attributes, **total})])

    def _span(
        self, own: SpanId, parent: SpanId | None, name: str, attributes: Mapping[str, AnyValue], start: int, end: int
    ) -> Span:
        failed = attributes.get(names.VERIFIED) is False
        return Span(
            trace_id=self.trace_id, span_id=own, parent_span_id=parent, name=name, start_ns=start, end_ns=end,
            attributes={names.MISSION: self._mission.name, **attributes},
            status_code=StatusCode.ERROR if failed else StatusCode.OK, resource=RESOURCE, scope=SCOPE,
        )  # fmt: skip


def _spent(spans: Sequence[Span]) -> Taken:
    """A reply that was found again after a crash is the same call: it has the same times."""
    calls = {(s.start_ns, s.end_ns, s.name): s.attributes for s in spans if names.RECORD_REQUEST in s.attributes}

    def used(name: str) -> float:
        found = (attributes.get(f"gen_ai.usage.{name}") for attributes in calls.values())
        return sum(value for value in found if isinstance(value, int | float))

    own = [(s.start_ns, s.end_ns) for s in spans if names.KIND in s.attributes]
    tokens = int(used("input_tokens") + used("output_tokens"))
    return Taken(calls=len(calls), tokens=tokens, usd=float(used("cost")), seconds=_length(own) / 1e9)


def _length(intervals: Sequence[tuple[int, int]]) -> int:
    """Returns how long it is in all that some interval goes on: a run that was killed has left its steps alone."""
    total, reached = 0, 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def trace_of(mission: str) -> TraceId:
    """Returns the trace of a mission: one a name."""
    return TraceId(hashlib.sha256(f"mission\0{mission}".encode()).hexdigest()[:32])


def file_of(store: Store, mission: str) -> Path:
    """Returns the file of a mission that was run before; NotFoundError when there was none."""
    spans = [s for s in store.spans(trace_of(mission)) if names.MISSION_FILE in s.attributes]
    if not spans:
        raise NotFoundError(
            f"no mission {mission!r} has stopped in this store",
            hint="start it, or go on after a crash, with: whyspan mission run --mission-file FILE",
        )
    return Path(str(max(spans, key=lambda s: s.end_ns).attributes[names.MISSION_FILE]))
