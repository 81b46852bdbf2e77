"""A sweep: every combination of some variables, played so many times, with a mean, an interval and a price each.

`variables` are crossed; values that belong together are given as lists of lists under a name with commas:

    scenario: support
    runs_per_combo: 10
    variables:
      tone: [short, warm]
      "provider,model": [[openai, gpt-5-mini], [anthropic, claude-haiku-4-5]]

`provider`, `model`, `system` and `prompt` change who plays, `parameters.NAME` a setting of the model, and `case` plays
the case of that name alone; any other name takes the place of that field of the input, and stands in prompts as
`{{ variables.name }}`.
"""

import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...ingest.calls import Json
from ...ingest.errors import FormatError, UpstreamError
from ...ingest.settings import nearest
from ..canonical import digest
from ..statistics.betting import mean_interval
from ..yaml_files import Table, read_table
from .play.bench import Bench, open_bench
from .play.engines import at_once
from .play.forecasts import Forecast, forecast_sweep
from .play.players import Player, provider_names, read_player
from .play.plays import Play, all_spans
from .scenarios.scenario import FAMILIES, Scenario, ScenarioCase, find_scenario, read_scenario
from .scoring.spec import read_evaluator

FIELDS = (
    "description", "scenario", "scenario_family", "base_input", "proposer", "evaluator", "variables", "runs_per_combo",
)  # fmt: skip
_PLAYER_FIELDS = ("provider", "model", "system", "prompt")
_PARAMETER = "parameters."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a `sweep.yaml` says."""

    description: str
    scenario: Scenario
    combinations: tuple[dict[str, Json], ...]
    runs: int
    """Plays of each combination."""

    @property
    def id(self) -> str:
        """Digest of what is played, 16 hex digits: the same sweep again goes on where it stopped."""
        return digest([self.scenario.name, self.scenario.epoch, list(self.combinations), self.description])[:16]


@dataclass
class Cell:
    """One combination and what came of it."""

    variables: dict[str, Json]
    plays: list[Play] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """A play that crashed is an error, never a score of nought."""
    is_beaten: bool = False
    """Stopped early: another combination is better."""

    @property
    def scores(self) -> list[float]:
        """Scores in the order of the plays."""
        return [play.score.score for play in self.plays]

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Returns the interval of the mean score, valid at every look."""
        low, high = mean_interval(self.scores, alpha=alpha)
        return max(0.0, low), min(1.0, high)

    def to_json(self) -> dict[str, Json]:
        """Returns the form that files and `--json` use."""
        scores, costs = self.scores, [cost for p in self.plays for cost in p.costs_usd]
        return {
            "variables": self.variables,
            "n": len(scores),
            "mean": sum(scores) / len(scores) if scores else None,
            "interval": list(self.interval()),
            "errors": len(self.errors),
            "error": self.errors[0] if self.errors else None,
            "cost_usd": None if None in costs else sum(c or 0.0 for c in costs),
            "is_beaten": self.is_beaten,
        }


def read_sweep(path: Path) -> Sweep:
    """Reads a file; FormatError names line and field of what is wrong."""
    table = read_table(path).only(FIELDS)
    combinations, scenario = _combinations(table), _scenario(table, path)
    named = [case.name for case in scenario.cases]
    unknown = next((c["case"] for c in combinations if c.get("case", named[0]) not in named), None)
    if unknown is not None:
        table.table("variables").fail("case", f"there is no case {unknown!r}", hint=nearest(str(unknown), named))
    return Sweep(
        description=table.text("description", ""),
        scenario=scenario,
        combinations=combinations,
        runs=table.whole("runs_per_combo", 1, least=1),
    )


def _scenario(table: Table, path: Path) -> Scenario:
    if "scenario" in table:
        return read_scenario(find_scenario(table.text("scenario")))
    if "proposer" not in table or "evaluator" not in table:
        table.fail("scenario", "name a scenario, or give base_input, proposer and evaluator")
    return Scenario(
        name=path.stem,
        family=table.choice("scenario_family", FAMILIES, "simulation"),
        description=table.text("description", ""),
        folder=path.parent,
        proposer=read_player(table.table("proposer")),
        evaluator=read_evaluator(table.table("evaluator")),
        cases=(ScenarioCase(name="base", input=table.table("base_input").plain()),),
    )


def _combinations(table: Table) -> tuple[dict[str, Json], ...]:
    variables = table.table("variables")
    axes = []
    for name, values in variables.plain().items():
        names = [part.strip() for part in name.split(",")]
        if not isinstance(values, list) or not values:
            variables.fail(name, f"must be a list of values, not {values!r}")
        rows = [value if len(names) > 1 else [value] for value in values]
        wrong = next((row for row in rows if not isinstance(row, list) or len(row) != len(names)), None)
        if wrong is not None:
            variables.fail(name, f"{wrong!r} must be a list of {len(names)} values")
        axes.append([dict(zip(names, row, strict=True)) for row in rows])
    return tuple({k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes))


async def simulate(
    bench: Bench, sweep: Sweep, *, race: bool = False, agrees: Callable[[Forecast], bool] = lambda _: True
) -> list[Cell]:
    """Plays all combinations round by round, and writes the plays to the store; nothing where nobody agrees.

    With `race`, a combination stops once its interval lies below that of another one. Raises BudgetExceededError when
    a cap is reached; doing it again goes on from there.
    """
    cells = [Cell(variables=dict(c)) for c in sweep.combinations]
    alpha = 0.05 / len(cells)
    async with AsyncExitStack() as stack:
        benches = [await stack.enter_async_context(_bench(bench, sweep, cell)) for cell in cells]
        combinations = [(b, c.variables) for c, b in zip(cells, benches, strict=True)]
        if not agrees(forecast_sweep(combinations, sweep.runs, bench.budget.cap)):
            return []
        for number in range(sweep.runs):
            going = [(c, b) for c, b in zip(cells, benches, strict=True) if not c.is_beaten]
            known = {id(c): len(c.plays) for c, _ in going}
            try:
                await at_once(_play(b, c, sweep, number) for c, b in going)
            finally:
                bench.store.write(all_spans([p for c, _ in going for p in c.plays[known[id(c)] :]]))
            if race:
                best = max(cell.interval(alpha)[0] for cell in cells)
                for cell in cells:
                    cell.is_beaten = cell.is_beaten or cell.interval(alpha)[1] < best
    return cells


@asynccontextmanager
async def _bench(bench: Bench, sweep: Sweep, cell: Cell) -> AsyncIterator[Bench]:
    scenario = replace(sweep.scenario, proposer=_player(sweep.scenario.proposer, cell.variables))
    own = Bench(
        scenario=scenario, store=bench.store, budget=bench.budget, concurrency=bench.concurrency, choice=bench.choice,
        prices=bench.prices,
    )  # fmt: skip
    async with open_bench(own):
        yield own


async def _play(bench: Bench, cell: Cell, sweep: Sweep, number: int) -> None:
    cases = _cases(bench.scenario, cell.variables)
    case = cases[number % len(cases)]
    changed = {k: v for k, v in cell.variables.items() if k in case.input}
    case = replace(case, input={**case.input, **changed})
    try:
        play = await bench.play(case, (), number // len(cases), variables=cell.variables, simulation=sweep.id)
    except (UpstreamError, FormatError) as error:
        cell.errors.append(error.message)
        return
    cell.plays.append(play)


def _cases(scenario: Scenario, variables: Mapping[str, Json]) -> list[ScenarioCase]:
    return [case for case in scenario.cases if variables.get("case", case.name) == case.name]


def _player(player: Player, variables: Mapping[str, Json]) -> Player:
    own = {name: str(value) for name, value in variables.items() if name in _PLAYER_FIELDS}
    if own.get("provider", player.provider) not in (*provider_names(), player.provider):
        raise FormatError(
            f"variables: unknown provider {own['provider']!r}", hint="known: " + ", ".join(provider_names())
        )
    settings = {k.removeprefix(_PARAMETER): v for k, v in variables.items() if k.startswith(_PARAMETER)}
    changes: dict[str, Any] = {**own, "parameters": {**player.parameters, **settings}}
    return replace(player, **changes)


def summary(sweep: Sweep, cells: Sequence[Cell]) -> dict[str, Json]:
    """Returns the result of a sweep, the best combination first."""
    ordered = sorted((cell.to_json() for cell in cells), key=lambda row: -(row["mean"] or 0.0))
    return {
        "simulation": sweep.id,
        "description": sweep.description,
        "scenario": sweep.scenario.name,
        "combinations": ordered,
    }
