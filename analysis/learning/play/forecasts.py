"""What a command would take at most, told before it is begun: model calls, tokens, money."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....ingest.calls import Json
from ...replay.budget import Budget
from ...replay.estimate import Estimate
from ..lessons.roles import MOST_PROPOSALS
from ..missions.mission import Mission
from ..scenarios.scenario import ScenarioCase
from ..scoring.evaluator import RUBRIC
from .bench import Bench
from .engines import Engines
from .players import Player

TURN_CHARACTERS = 1500
"""What a turn of an environment adds to a conversation, roughly: an answer, and a message."""
NOTHING = Estimate(calls=0, input_tokens=0, output_tokens=0, cost_usd=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The parts of a command's work, each with the most that it takes."""

    parts: tuple[tuple[str, Estimate], ...]
    cap: int
    """Calls that the budget allows."""

    @property
    def total(self) -> Estimate:
        """All parts together, within the budget."""
        whole = sum((estimate for _, estimate in self.parts), NOTHING)
        if whole.calls <= self.cap:
            return whole
        share = self.cap / whole.calls
        return Estimate(
            calls=self.cap,
            input_tokens=math.ceil(whole.input_tokens * share),
            output_tokens=math.ceil(whole.output_tokens * share),
            cost_usd=None if whole.cost_usd is None else whole.cost_usd * share,
        )

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` uses."""
        return {"parts": [_row(what, part) for what, part in self.parts], "total": _row("in all", self.total)}


def _row(what: str, estimate: Estimate) -> dict[str, Json]:
    return {
        "what": what, "calls": estimate.calls, "input_tokens": estimate.input_tokens,
        "output_tokens": estimate.output_tokens, "cost_usd": estimate.cost_usd,
    }  # fmt: skip


def forecast_run(bench: Bench, generations: int, *, extra: Sequence[ScenarioCase], waiting: int) -> Forecast:
    """Returns what generations of a scenario take; `waiting` lessons stand in the playbook and are tested too."""
    scenario = bench.scenario
    cases = (*scenario.explored, *extra)
    proposals = waiting + generations * 2 * MOST_PROPOSALS
    tested = (*scenario.confirming, *scenario.heldout)
    roles = [(f"the {role}", _asked(bench.engines, player, "", generations)) for role, player in scenario.roles.items()]
    parts = [
        *_plays(bench, "generations", cases, generations * scenario.samples),
        *_plays(bench, f"tests of up to {proposals} lessons", tested, proposals * 2 * scenario.samples),
        *roles,
    ]
    return Forecast(parts=tuple(parts), cap=bench.budget.cap)


def forecast_plays(
    bench: Bench, what: str, cases: Sequence[ScenarioCase], times: int, *, variables: Mapping[str, Json] | None = None
) -> Forecast:
    """Returns what it takes to play cases so many times each."""
    return Forecast(parts=tuple(_plays(bench, what, cases, times, variables)), cap=bench.budget.cap)


def forecast_sweep(combinations: Sequence[tuple[Bench, Mapping[str, Json]]], runs: int, cap: int) -> Forecast:
    """Returns what it takes to play every combination, a bench with its variables, so many times."""
    plays = [
        estimate
        for bench, variables in combinations
        for _, estimate in _plays(bench, "", bench.scenario.cases[:1], runs, variables)
    ]
    return Forecast(parts=((f"{len(combinations)} combinations", sum(plays, NOTHING)),), cap=cap)


def forecast_mission(mission: Mission, engines: Engines, budget: Budget) -> Forecast:
    """Returns what a mission takes if no step has passed before and every attempt is needed."""
    parts = []
    for step in mission.steps:
        attempts = step.retries + 1
        part = _asked(engines, mission.proposer, step.task, attempts)
        if step.verifier.kind == "judge":
            part += _asked(engines, mission.judge, str(step.verifier.check), attempts)
        parts.append((step.id, part))
    return Forecast(parts=tuple(parts), cap=budget.cap)


def _plays(
    bench: Bench, what: str, cases: Sequence[ScenarioCase], times: int, variables: Mapping[str, Json] | None = None
) -> Iterator[tuple[str, Estimate]]:
    """Yields the model calls of plays and those of their judge; a case stands for all in its length."""
    scenario, judge = bench.scenario, bench.scenario.evaluator.judge if bench.scenario.evaluator else None
    if not cases:
        return
    turns = scenario.environment.turns if scenario.environment else 1
    case, plays = cases[0], len(cases) * times
    # The middle of a conversation stands for all its turns.
    request = scenario.request(case, variables, message=" " * (TURN_CHARACTERS * (turns // 2)))
    yield what, bench.engines.estimate(scenario.proposer, request, plays * turns, case.frozen)
    if judge and scenario.evaluator:
        shown = json.dumps(dict(case.input), ensure_ascii=False)
        question = RUBRIC.format(rubric=scenario.evaluator.options["rubric"], input=shown, output="")
        yield f"judging {what}", _asked(bench.engines, judge, question, plays)


def _asked(engines: Engines, player: Player, text: str, calls: int) -> Estimate:
    return engines.estimate(player, player.request(text), calls)
