"""Carries a mission out: steps that are ready run at once, what has passed before is taken from the trace."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ....ingest.errors import BudgetExceededError, WhyspanError
from ....ingest.prices import PriceList
from ....ingest.store import Store
from ...replay.budget import Budget
from ...replay.models import ModelChoice
from ...replay.prices import NO_PRICES
from ..play.engines import Engines, at_once, within
from ..play.exchanges import Exchange
from ..play.forecasts import Forecast, forecast_mission
from ..play.players import Player
from .mission import Mission, Step
from .report import MissionReport, StepResult, StepStatus
from .trace import Attempt, MissionTrace
from .verifiers import Verdict, Verifier


@dataclass(kw_only=True)
class MissionRun:
    """One `whyspan mission run`, `resume` or `retry`."""

    mission: Mission
    store: Store
    budget: Budget
    """Its caps are lowered to what the mission's own budget leaves after the earlier times."""
    choice: ModelChoice | None = None
    prices: PriceList = NO_PRICES
    hints: Mapping[str, str] = field(default_factory=dict)
    """Step → what its next attempt is told; such a step is done again."""
    tell: Callable[[StepResult], None] = lambda _: None

    def __post_init__(self) -> None:
        """Raises UsageError where the policy does not allow what a verifier starts."""
        mission = self.mission
        self.trace = MissionTrace(mission, self.store)
        self._spent = self.trace.spent()
        mission.limits.cap(self.budget, self._spent)
        self.engines = Engines(
            folder=Path(self.store.path), budget=self.budget, policy=mission.policy, choice=self.choice,
            proposer=mission.proposer, prices=self.prices,
            way_on=f"raise it, in {mission.path} or by --budget, then: whyspan mission resume {mission.name}",
        )  # fmt: skip
        self._verifier = Verifier(store=self.store, ask=self._ask, judge=mission.judge, sandbox=mission.sandbox)
        for step in mission.steps:
            self._verifier.check(step.verifier)

    async def run(self, *, agrees: Callable[[Forecast], bool] = lambda _: True) -> MissionReport | None:
        """Works until all steps have passed or one has failed for good; None where nobody agrees to what it may take.

        Raises BudgetExceededError when a cap is reached; `resume` goes on from there.
        """
        async with self.engines:
            self.engines.check([self.mission.proposer, self.mission.judge])
            if not agrees(forecast_mission(self.mission, self.engines, self.budget)):
                return None
            return await self._carry_out()

    async def _carry_out(self) -> MissionReport:
        status, note = "paused", ""
        try:
            results = await within(self.mission.limits, self._steps(), spent_s=self._spent.seconds)
            if all(r.status is StepStatus.PASSED for r in results):
                status = "done"
        except BudgetExceededError as error:
            status, note = "budget", error.message
            raise
        finally:
            self.trace.record_stop(status, note)
        return MissionReport(mission=self.mission.name, trace_id=self.trace.trace_id, steps=tuple(results))

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
        is_due = step.id in self.hints or not step.checkpoint
        passed = None if is_due else self.trace.passed(step, inputs)
        if passed is not None:
            return StepResult(step=step, status=StepStatus.PASSED, output=passed, resumed=True)
        feedback = self.hints.get(step.id, "")
        for number in range(step.retries + 1):
            attempt = await self._attempt(step, inputs, feedback, number)
            if attempt.verdict.passed:
                break
            feedback = f"An earlier attempt was refused: {attempt.verdict.message}"
        verdict = attempt.verdict
        status = StepStatus.PASSED if verdict.passed else StepStatus.FAILED
        return StepResult(step=step, status=status, output=attempt.exchange.text, message=verdict.message)

    async def _attempt(self, step: Step, inputs: Mapping[str, str], feedback: str, number: int) -> Attempt:
        start_ns = time.time_ns()
        request = self.mission.proposer.request(self._prompt(step, inputs, feedback))
        # Another attempt at the same prompt is another sample: the reply that was refused would come from the cache.
        exchange = await self.engines.ask(self.mission.proposer, request, number)
        answered_ns = time.time_ns()
        refusal = self.mission.policy.refusal(exchange.reply)
        verdict = (
            Verdict(passed=False, message=refusal)
            if refusal
            else await self._verifier.verify(step.verifier, exchange.text, inputs)
        )
        attempt = Attempt(
            step=step, inputs=inputs, exchange=exchange, verdict=verdict, start_ns=start_ns, answered_ns=answered_ns
        )
        self.trace.record(attempt)
        return attempt

    def _prompt(self, step: Step, inputs: Mapping[str, str], feedback: str) -> str:
        parts = [f"Goal: {self.mission.goal}"] if self.mission.goal else []
        parts += [f"Result of {name}:\n{output}" for name, output in inputs.items()]
        parts += [f"Task: {step.task}", feedback]
        return "\n\n".join(part for part in parts if part)

    async def _ask(self, player: Player, text: str) -> Exchange:
        return await self.engines.ask(player, player.request(text))
