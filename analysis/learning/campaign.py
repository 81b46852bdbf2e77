"""Generations: play, see what goes wrong, propose, measure, serve what passed the gate, and play again.

A run that was killed is continued by the same command: it starts from the same lessons and goes the same way, and
every reply that was paid for is found again, so that it ends with the same claims.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...ingest import conventions as names
from ...ingest.calls import Json
from ...ingest.errors import FormatError
from ...ingest.spans import AnyValue, Span
from ..canonical import digest
from ..statistics.logarithms import from_log
from .bench import SAMPLES_OF_A_RUN, Bench, at_once
from .gate import Decision, Strategy
from .knowledge import Knowledge
from .lessons import Lesson
from .playbook import Status, write_whole
from .records import Finding, Place, Play, all_spans, finding_span, learning_span
from .roles import MOST_PROPOSALS, analyse, architect, coach
from .scenario import ScenarioCase
from .testing import Tester

RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A lesson, who proposed it, and what came of it."""

    generation: int
    role: str
    finding: Finding

    @property
    def reason(self) -> str:
        """Why it was admitted or not, in words."""
        measured = self.finding.measured
        e, needed = f"e-value {from_log(measured.log_help):.3g}", f"{measured.needed:.3g}"
        heldout = f"{len(measured.heldout)} held-out cases"
        match self.finding.decision:
            case Decision.ADMITTED:
                return f"{e} reaches {needed} (lesson {measured.number} of the scenario); {heldout}"
            case Decision.REFUTED:
                return f"it lowers the score: evidence {from_log(measured.log_harm):.3g}"
            case _ if measured.log_help >= math.log(measured.needed):
                return f"{e} reaches {needed}, but {heldout} do not agree"
            case _:
                return f"{e} stays below {needed} (lesson {measured.number} of the scenario)"

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        found = self.finding
        return {
            "generation": self.generation,
            "role": self.role,
            "lesson": found.lesson.text,
            "lesson_id": found.lesson.id,
            "decision": found.decision.value,
            "reason": self.reason,
            "score_without": found.rates[0] if found.measured.blocks else None,
            "score_with": found.rates[1] if found.measured.blocks else None,
            "effect": found.measured.effect,
            "interval": list(found.measured.interval),
            "e_value": from_log(found.measured.log_help),
            "needed": found.measured.needed,
            "cases": len(found.measured.blocks),
            "heldout": len(found.measured.heldout),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What one generation has played."""

    number: int
    served: tuple[Lesson, ...]
    plays: tuple[Play, ...]

    @property
    def score(self) -> float:
        """Mean over the plays."""
        return sum(p.score.score for p in self.plays) / len(self.plays)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run has learned."""

    run: str
    trace_id: str
    generations: tuple[Generation, ...]
    proposals: tuple[Proposal, ...]
    served: tuple[Lesson, ...]
    """In force when it ended."""

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan run --json` prints."""
        return {
            "run": self.run,
            "trace_id": self.trace_id,
            "generations": [
                {"generation": g.number, "score": g.score, "runs": len(g.plays), "served": len(g.served)}
                for g in self.generations
            ],
            "proposals": [p.to_json() for p in self.proposals],
            "served": [lesson.text for lesson in self.served],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What a run is continued from."""

    ordinal: int
    """Which run of the scenario it is, from 1: other runs draw other samples."""
    epoch: str
    kind: str
    """A strategy, or `retest`."""
    served: tuple[str, ...]
    """Ids of the lessons that were served when it began."""
    waiting: tuple[str, ...]
    """Ids of the lessons in the playbook that waited for a test then."""
    is_done: bool = False

    @property
    def run(self) -> str:
        """Id of the run."""
        return digest([self.ordinal, self.epoch, self.kind, list(self.served)])[:16]


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
            names.SCENARIO: scenario.name,
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
        spans: list[Span] = []
        start_ns = time.time_ns()
        observed = await analyse(scenario, plays, self.bench.ask)
        spans.append(self._role(state, generation, "analyst", start_ns, [o.text for o in observed]))
        waiting = [lesson for lesson in self.knowledge.lessons() if lesson.id in state.waiting]
        found = [("playbook", lesson) for lesson in waiting if generation.number == 1]
        start_ns = time.time_ns()
        rules = await coach(scenario, observed, [i.lesson for i in self.knowledge.playbook.items], self.bench.ask)
        spans.append(self._role(state, generation, "coach", start_ns, [r.text for r in rules]))
        start_ns = time.time_ns()
        settings = await architect(scenario, plays, self.bench.ask)
        spans.append(self._role(state, generation, "architect", start_ns, [s.text for s in settings]))
        self.bench.store.write(spans)
        for role, lessons in (("coach", rules), ("architect", settings)):
            fresh = [lesson for lesson in lessons if not self._is_known(lesson, state, found)]
            found += [(role, lesson) for lesson in fresh[:MOST_PROPOSALS]]
        return found

    def _is_known(self, lesson: Lesson, state: RunState, found: Sequence[tuple[str, Lesson]]) -> bool:
        tried = {p.finding.lesson.id for p in self._proposals} | {other.id for _, other in found}
        known = self.knowledge.book.knows(lesson.id, epoch=state.epoch, run=state.run)
        return known or lesson.id in tried or lesson.id in state.served

    def _role(self, state: RunState, generation: Generation, role: str, start_ns: int, said: Sequence[str]) -> Span:
        place = Place(run=state.run, start_ns=start_ns, end_ns=time.time_ns())
        parent = f"generation {generation.number}"
        attributes: dict[str, AnyValue] = {
            names.ROLE: role,
            names.SCENARIO: self.bench.scenario.name,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": role,
            "output.value": json.dumps(said, ensure_ascii=False),
        }
        return learning_span(place, names.KIND_ROLE, f"{role} {generation.number}", attributes, parent=parent)

    def _end(self, state: RunState, started: int) -> None:
        scenario = self.bench.scenario
        place = Place(run=state.run, start_ns=started, end_ns=time.time_ns())
        attributes: dict[str, AnyValue] = {names.SCENARIO: scenario.name, names.STRATEGY: self.strategy.value}
        self.bench.store.write([learning_span(place, names.KIND_LEARNING_RUN, f"learn {scenario.name}", attributes)])
        end_run(self.knowledge, state)


def start_run(knowledge: Knowledge, epoch: str, kind: str) -> RunState:
    """Returns the state of the run that was stopped, when it is of the same kind, else that of a new one.

    The kind is a strategy, or `retest`. A strategy of `none` serves nothing.
    """
    path = knowledge.folder / RUN_FILE
    last = _read_state(path)
    if last is not None and not last.is_done and (last.epoch, last.kind) == (epoch, kind):
        return last
    knowledge.begin_epoch(epoch)
    served = () if kind == Strategy.NONE else tuple(sorted(i.id for i in knowledge.playbook.active()))
    waiting = tuple(sorted(i.lesson.id for i in knowledge.playbook.items if i.status is Status.PROPOSED))
    ordinal = last.ordinal + 1 if last else 1
    state = RunState(ordinal=ordinal, epoch=epoch, kind=kind, served=served, waiting=waiting)
    write_whole(path, json.dumps(asdict(state), indent=1))
    return state


def end_run(knowledge: Knowledge, state: RunState) -> None:
    """Notes that a run has ended, so that the next one is another."""
    write_whole(knowledge.folder / RUN_FILE, json.dumps({**asdict(state), "is_done": True}, indent=1))


def _read_state(path: Path) -> RunState | None:
    if not path.exists():
        return None
    try:
        value: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return RunState(**{**value, "served": tuple(value["served"]), "waiting": tuple(value["waiting"])})
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{path} cannot be read: {error}", hint="delete it: the next run then starts anew") from error
