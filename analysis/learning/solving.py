"""One task without a scenario: attempts, each told what was wrong with the one before."""

from collections.abc import Callable
from dataclasses import replace

from ..canonical import digest
from ..policy import load_policy
from .play.bench import Bench, open_bench
from .play.forecasts import Forecast, forecast_plays
from .play.players import Player
from .play.plays import Play, all_spans
from .scenarios.scenario import Scenario, ScenarioCase
from .scoring.spec import EvaluatorSpec

PROMPT = """\
{{ input.task }}
{%- if variables.feedback %}

An earlier attempt was not good enough. Do better:
{{ variables.feedback }}
{%- endif %}"""
GOOD_ENOUGH = 0.99


def inline_scenario(task: str, player: Player, *, rubric: str, predicate: str) -> Scenario:
    """Returns a scenario with one case, scored by a rubric or a predicate; the model judges itself."""
    proposer = replace(player, prompt=PROMPT)
    options = {"rubric": rubric} if rubric else {"predicate": predicate}
    evaluator = EvaluatorSpec(
        kind="judge" if rubric else "predicate",
        place="the task",
        options=options,
        judge=proposer if rubric else None,
        folder=player.folder,
    )
    name = f"task_{digest(task)[:8]}"
    cases = (ScenarioCase(name=name, input={"task": task}),)
    return Scenario(
        name=name, family="agent_task", description=task, folder=player.folder, proposer=proposer,
        evaluator=evaluator, cases=cases, policy=load_policy(),
    )  # fmt: skip


async def solve(bench: Bench, attempts: int, *, agrees: Callable[[Forecast], bool] = lambda _: True) -> list[Play]:
    """Returns the attempts, in order; the last is good enough, or there were no more. None where nobody agrees."""
    plays: list[Play] = []
    feedback = ""
    async with open_bench(bench):
        cases = bench.scenario.cases
        if not agrees(forecast_plays(bench, "attempts", cases, attempts, variables={"feedback": ""})):
            return []
        for number in range(attempts):
            variables = {"feedback": feedback}
            play = await bench.play(cases[0], (), number, generation=number + 1, variables=variables)
            plays.append(play)
            bench.store.write(all_spans([play]))
            if play.score.score > GOOD_ENOUGH:
                break
            feedback = "\n".join(play.score.feedback)
    return plays
