"""Carries a mission out: steps that are ready run at once, what has passed before is taken from the trace."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ...ingest import conventions as names
from ...ingest.calls import Json, ModelReply
from ...ingest.errors import BudgetExceededError, NotFoundError, WhyspanError
from ...ingest.spans import AnyValue, Span, SpanId, StatusCode, TraceId
from ...ingest.store import Store
from ..claims import span_id_of
from ..records import RESOURCE, SCOPE
from ..replay.budget import Budget
from ..replay.engine import ReplayEngine
from ..replay.models import ModelChoice
from .bench import FIRST_SAMPLE, at_once, one, open_engine
from .mission import Mission, Step, inputs_digest
from .players import Player
from .verifiers import Verdict, Verifier


class StepStatus(StrEnum):
    """How a step stands."""

    PASSED = "passed"
    FAILED = "failed"
    """Its verifier did not pass: the mission pauses, the output is kept."""
    WAITING = "waiting"
    """A step before it has not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What came of a step."""

    step: Step
    status: StepStatus
    output: str = ""
    message: str = ""
    """What the verifier said last."""
    resumed: bool = False
    """It had passed before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissionReport:
    """How a mission stands."""

    mission: str
    trace_id: str
    steps: tuple[StepResult, ...]

    @property
    def is_done(self) -> bool:
        """Whether every step has passed."""
        return all(s.status is StepStatus.PASSED for s in self.steps)

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        return {
            "mission": self.mission,
            "trace_id": self.trace_id,
            "status": "done" if self.is_done else "paused",
            "steps": [
                {"id": s.step.id, "status": s.status.value, "message": s.message, "output": s.output,
                 "resumed": s.resumed}
                for s in self.steps
            ],
        }  # fmt: skip


@dataclass
class MissionRun:
    """One `whyspan mission run`, `resume` or `retry`."""

    mission: Mission
    store: Store
    budget: Budget
    choice: ModelChoice | None = None
    hints: Mapping[str, str] = field(default_factory=dict)
    """Step → what its next attempt is told; such a step is done again."""
    tell: Callable[[StepResult], None] = lambda _: None
    _engines: dict[str, ReplayEngine] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._trace_id = trace_of(self.mission.name)
        self._earlier = self.store.spans(self._trace_id)
        self._verifier = Verifier(store=self.store, ask=self._ask, judge=self.mission.judge)

    async def run(self) -> MissionReport:
        """Works until all steps have passed or one has failed for good.

        Raises BudgetExceededError when a cap is reached; `resume` goes on from there.
        """
        started, status, note = time.time_ns(), "paused", ""
        try:
            async with self._stack, asyncio.timeout(self.mission.limits.seconds):
                results = await self._steps()
            if all(r.status is StepStatus.PASSED for r in results):
                status = "done"
        except TimeoutError:
            status = "budget"
            note = f"{self.mission.limits.seconds:g} seconds have passed"
            raise BudgetExceededError(note, hint=f"whyspan mission resume {self.mission.name}") from None
        except BudgetExceededError as error:
            status, note = "budget", error.message
            raise BudgetExceededError(note, hint=f"raise the budget in {self.mission.path}, then resume") from None
        finally:
            self._record(started, status, note)
        return MissionReport(mission=self.mission.name, trace_id=self._trace_id, steps=tuple(results))

    async def _steps(self) -> list[StepResult]:
        done: dict[str, asyncio.Future[StepResult]] = {
            step.id: asyncio.get_running_loop().create_future() for step in self.mission.steps
        }

        async def follow(step: Step) -> StepResult:
            try:
                result = await self._step(step, [await asyncio.shield(done[name]) for name in step.depends_on])
            except WhyspanError as error:
                done[step.id].set_exception(error)
                done[step.id].exception()  # Nothing need depend on it: asyncio else says that nobody looked.
                raise
            done[step.id].set_result(result)
            self.tell(result)
            return result

        return await at_once(follow(step) for step in self.mission.steps)

    async def _step(self, step: Step, before: list[StepResult]) -> StepResult:
        if any(r.status is not StepStatus.PASSED for r in before):
            return StepResult(step=step, status=StepStatus.WAITING, message="a step before it has not passed")
        inputs = {r.step.id: r.output for r in before}
        passed = None if step.id in self.hints else self._passed(step, inputs)
        if passed is not None:
            return StepResult(step=step, status=StepStatus.PASSED, output=passed, resumed=True)
        feedback = self.hints.get(step.id, "")
        output, verdict = "", Verdict(passed=False, message="")
        for attempt in range(step.retries + 1):
            start_ns = time.time_ns()
            output = (await self._ask(self.mission.proposer, self._prompt(step, inputs, feedback))).text
            verdict = await self._verifier.verify(step.verifier, output, inputs)
            self._record_step(step, inputs, output, verdict, start_ns, f"{attempt}\0{feedback}")
            if verdict.passed:
                break
            feedback = f"An earlier attempt was refused: {verdict.message}"
        status = StepStatus.PASSED if verdict.passed else StepStatus.FAILED
        return StepResult(step=step, status=status, output=output, message=verdict.message)

    def _prompt(self, step: Step, inputs: Mapping[str, str], feedback: str) -> str:
        parts = [f"Goal: {self.mission.goal}"] if self.mission.goal else []
        parts += [f"Result of {name}:\n{output}" for name, output in inputs.items()]
        parts += [f"Task: {step.task}", feedback]
        return "\n\n".join(part for part in parts if part)

    async def _ask(self, player: Player, text: str) -> ModelReply:
        key = repr((player.to_json(), player.folder))
        if key not in self._engines:
            choice = self.choice if player == self.mission.proposer else None
            folder = Path(self.store.path)
            self._engines[key] = open_engine(self._stack, player, self.budget, folder, choice=choice)
        return one(await self._engines[key].sample(player.request(text), FIRST_SAMPLE, 1))[0].completion.reply

    def _passed(self, step: Step, inputs: Mapping[str, str]) -> str | None:
        """Returns the output of the latest attempt that has passed for the same task and inputs."""
        wanted = {
            names.KIND: names.KIND_STEP,
            names.STEP: step.id,
            names.STEP_TASK: self.mission.task_digest(step),
            names.STEP_INPUTS: inputs_digest(inputs),
            names.VERIFIED: True,
        }
        found = [s for s in self._earlier if all(s.attributes.get(k) == v for k, v in wanted.items())]
        return str(max(found, key=lambda s: s.end_ns).attributes[names.STEP_OUTPUT]) if found else None

    def _record_step(
        self, step: Step, inputs: Mapping[str, str], output: str, verdict: Verdict, start_ns: int, attempt: str
    ) -> None:
        now = time.time_ns()
        place = (self.mission.task_digest(step), inputs_digest(inputs), attempt)
        own = SpanId(span_id_of("step", self._trace_id, step.id, *place, str(start_ns)))
        attributes: dict[str, AnyValue] = {
            names.KIND: names.KIND_STEP,
            names.MISSION: self.mission.name,
            names.STEP: step.id,
            names.STEP_TASK: place[0],
            names.STEP_INPUTS: place[1],
            names.STEP_OUTPUT: output,
            names.VERIFIED: verdict.passed,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": step.id,
        }
        said: dict[str, AnyValue] = {
            names.KIND: names.KIND_VERIFIER,
            names.MISSION: self.mission.name,
            names.STEP: step.id,
            names.VERIFIED: verdict.passed,
            names.MISSION_NOTE: verdict.message,
            "gen_ai.operation.name": "evaluate",
        }
        root = SpanId(span_id_of("mission", self._trace_id))
        self.store.write(
            [
                self._span(own, root, f"step {step.id}", attributes, start_ns, now),
                self._span(SpanId(span_id_of("verify", own)), own, f"verify {step.id}", said, now, now),
            ]
        )

    def _record(self, started: int, status: str, note: str) -> None:
        steps = self.store.spans(self._trace_id)
        passed = {s.attributes[names.STEP] for s in steps if s.attributes.get(names.VERIFIED) is True}
        attributes: dict[str, AnyValue] = {
            names.KIND: names.KIND_MISSION,
            names.MISSION: self.mission.name,
            names.MISSION_STATUS: status,
            names.MISSION_STEPS: len(self.mission.steps),
            names.MISSION_PASSED: len(passed),
            names.MISSION_NOTE: note,
            names.MISSION_FILE: str(self.mission.path),
        }
        # A finished span is never changed: each time a mission stops is another span.
        own = SpanId(span_id_of("mission", self._trace_id, str(started)))
        self.store.write([self._span(own, None, f"mission {self.mission.name}", attributes, started, time.time_ns())])

    def _span(
        self, own: SpanId, parent: SpanId | None, name: str, attributes: Mapping[str, AnyValue], start: int, end: int
    ) -> Span:
        failed = attributes.get(names.VERIFIED) is False
        return Span(
            trace_id=self._trace_id, span_id=own, parent_span_id=parent, name=name, start_ns=start, end_ns=end,
            attributes=attributes, status_code=StatusCode.ERROR if failed else StatusCode.OK, resource=RESOURCE,
            scope=SCOPE,
        )  # fmt: skip


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
