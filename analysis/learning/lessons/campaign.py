"""Generations: play, see what goes wrong, propose, measure, serve what passed the gate, and play again.

A run that was killed is continued by the same command: it starts from the same lessons and goes the same way, and
every reply that was paid for is found again, so that it ends with the same claims.
"""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ....ingest import conventions as names
from ....ingest.spans import AnyValue
from ..play.bench import SAMPLES_OF_A_RUN, Bench
from ..play.engines import Ask, at_once
from ..play.exchanges import Exchange, Parent, chat_spans
from ..play.players import Player
from ..play.plays import all_spans
from ..scenarios.scenario import ScenarioCase
from .gate import Decision, Strategy
from .knowledge import Knowledge
from .lesson import Lesson
from .records import Place, finding_span, learning_span
from .roles import MOST_PROPOSALS, Observation, analyse, architect, coach, curate
from .run_report import Generation, Proposal, RunReport
from .run_state import RunState, end_run, start_run
from .testing import Tester

Said = TypeVar("Said", bound=Observation | Lesson)


@dataclass
class Campaign:
    """One `whyspan run`."""

    bench: Bench
    knowledge: Knowledge
    strategy: Strategy
    tell: Callable[[str], None] = lambda _: None
    extra: tuple[ScenarioCase, ...] = ()
    """Inputs of the user's, played in every generation."""
    _proposals: list[Proposal] = field(default_factory=list)

    async def run(self, generations: int) -> RunReport:
        """Plays generations; raises BudgetExceededError when a cap ends them, to be continued by the same command."""
        state = start_run(self.knowledge, self.bench.scenario.epoch, self.strategy.value)
        started = time.time_ns()
        served = [lesson for lesson in self.knowledge.lessons() if lesson.id in state.served]
        played: list[Generation] = []
        for number in range(1, generations + 1):
            generation = await self._play(number, served, state)
            played.append(generation)
            self.tell(f"generation {number}: score {generation.score:.2f}, {len(served)} lessons served")
            served = await self._learn(generation, served, state)
        self._end(state, started)
        place = Place(run=state.run, start_ns=started, end_ns=time.time_ns())
        return RunReport(
            run=state.run, trace_id=place.trace_id, generations=tuple(played), proposals=tuple(self._proposals),
            served=tuple(served),
        )  # fmt: skip

    async def _play(self, number: int, served: Sequence[Lesson], state: RunState) -> Generation:
        scenario = self.bench.scenario
        # Each generation draws anew: a score that comes from the cache would measure nothing.
        first = state.ordinal * SAMPLES_OF_A_RUN + (number - 1) * scenario.samples
        start_ns = time.time_ns()
        cases = (*scenario.explored, *self.extra)
        plays = await at_once(
            self.bench.play(case, served, first + k, generation=number)
            for case in cases
            for k in range(scenario.samples)
        )
        generation = Generation(number=number, served=tuple(served), plays=tuple(plays))
        place = Place(run=state.run, start_ns=start_ns, end_ns=time.time_ns())
        attributes: dict[str, AnyValue] = {
            **_workflow(scenario.name),
            names.GENERATION: number,
            names.RUN_SCORE: generation.score,
        }
        span = learning_span(
            place, names.KIND_GENERATION, f"generation {number}", attributes, parent=f"learn {scenario.name}"
        )
        self.bench.store.write([*all_spans(plays), span])
        return generation

    async def _learn(self, generation: Generation, served: Sequence[Lesson], state: RunState) -> list[Lesson]:
        """Has lessons proposed and measured; returns what the next generation is served."""
        now = list(served)
        tester = Tester(bench=self.bench, knowledge=self.knowledge, strategy=self.strategy, run=state.run)
        for role, lesson in await self._proposed(generation, state):
            start_ns = time.time_ns()
            found, plays = await tester.test(lesson, now, first=state.ordinal * SAMPLES_OF_A_RUN)
            place = Place(run=state.run, start_ns=start_ns, end_ns=time.time_ns())
            claim = finding_span(
                self.bench.scenario, found, self.strategy, place, parent=f"generation {generation.number}"
            )
            self.bench.store.write([*all_spans(plays), claim])
            self._proposals.append(Proposal(generation=generation.number, role=role, finding=found))
            self.tell(f"  {found.decision.value}: {lesson.text}")
            if found.decision is Decision.ADMITTED and self.strategy is not Strategy.NONE:
                now.append(lesson)
        return now

    async def _proposed(self, generation: Generation, state: RunState) -> list[tuple[str, Lesson]]:
        """Returns the new lessons of each role; what is on record, whatever came of it, is not tried again."""
        scenario, plays = self.bench.scenario, generation.plays
        waiting = [lesson for lesson in self.knowledge.lessons() if lesson.id in state.waiting]
        found = [("playbook", lesson) for lesson in waiting if generation.number == 1]
        known = self._known(state)
        observed = await self._role(state, generation, "analyst", lambda ask: analyse(scenario, plays, ask))
        coached = await self._role(state, generation, "coach", lambda ask: coach(scenario, observed, known, ask))
        rules = await self._role(state, generation, "curator", lambda ask: curate(scenario, coached, ask))
        settings = await self._role(state, generation, "architect", lambda ask: architect(scenario, plays, ask))
        for role, lessons in (("coach", rules), ("architect", settings)):
            fresh = [lesson for lesson in lessons if not self._is_known(lesson, state, found)]
            found += [(role, lesson) for lesson in fresh[:MOST_PROPOSALS]]
        return found

    def _known(self, state: RunState) -> list[Lesson]:
        """Returns the lessons on record before the run and those it has tested so far.

        The playbook alone would not do: after a crash it holds what the run went on to test, and a role that is shown
        more than before says something else.
        """
        book = self.knowledge.book
        before = [k for k in self.knowledge.lessons() if k.id in state.waiting or not book.is_new(k.id, run=state.run)]
        tested = [proposal.finding.lesson for proposal in self._proposals]
        return [*before, *(lesson for lesson in tested if lesson.id not in {k.id for k in before})]

    def _is_known(self, lesson: Lesson, state: RunState, found: Sequence[tuple[str, Lesson]]) -> bool:
        tried = {p.finding.lesson.id for p in self._proposals} | {other.id for _, other in found}
        known = self.knowledge.book.knows(lesson.id, epoch=state.epoch, run=state.run)
        return known or lesson.id in tried or lesson.id in state.served

    async def _role(
        self, state: RunState, generation: Generation, role: str, work: Callable[[Ask], Awaitable[list[Said]]]
    ) -> list[Said]:
        """Has a role do its work, and writes down what it said and which model calls that took."""
        asked: list[Exchange] = []

        async def ask(player: Player, text: str) -> Exchange:
            asked.append(await self.bench.ask(player, text))
            return asked[-1]

        start_ns = time.time_ns()
        said = await work(ask)
        place = Place(run=state.run, start_ns=start_ns, end_ns=time.time_ns())
        attributes: dict[str, AnyValue] = {
            names.ROLE: role,
            names.SCENARIO: self.bench.scenario.name,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": role,
            "output.value": json.dumps([one.text for one in said], ensure_ascii=False),
        }
        number = generation.number
        span = learning_span(place, names.KIND_ROLE, f"{role} {number}", attributes, parent=f"generation {number}")
        self.bench.store.write([span, *chat_spans(Parent(trace_id=span.trace_id, span_id=span.span_id), asked)])
        return said

    def _end(self, state: RunState, started: int) -> None:
        scenario = self.bench.scenario
        place = Place(run=state.run, start_ns=started, end_ns=time.time_ns())
        attributes: dict[str, AnyValue] = {**_workflow(scenario.name), names.STRATEGY: self.strategy.value}
        self.bench.store.write([learning_span(place, names.KIND_LEARNING_RUN, f"learn {scenario.name}", attributes)])
        end_run(self.knowledge, state)


def _workflow(scenario: str) -> dict[str, AnyValue]:
    return {names.SCENARIO: scenario, "gen_ai.operation.name": "invoke_workflow", "gen_ai.agent.name": scenario}
