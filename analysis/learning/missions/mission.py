"""A mission: steps that depend on each other, each done only when its verifier says so. The trace is the checkpoint.

name: release_notes
goal: Write the release notes.
proposer: {provider: openai, model: gpt-5-mini}
budget: {tokens: 20000, seconds: 600, usd: 1.0}
steps:
  - {id: list, task: List the changes., verifier: {type: predicate, predicate: "always text:/fix/"}}
  - id: write
    task: Write the notes.
    depends_on: [list]
    retries: 2
    verifier:
      type: script
      code: |
        words = len(context.get("step_output").split())
        return words < 200, f"{words} words"
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ....ingest.errors import UsageError
from ....ingest.settings import nearest
from ...canonical import digest
from ...policy import Limits, Policy, load_policy, read_limits
from ...yaml_files import Table, read_table
from ..play.players import RULES, Player, read_player
from ..scoring.sandbox import Sandbox, read_sandbox
from .verifiers import VerifierSpec, read_verifier

FIELDS = ("name", "goal", "proposer", "judge", "budget", "sandbox", "steps")
STEP_FIELDS = ("id", "task", "depends_on", "verifier", "retries", "checkpoint")
CALLS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step."""

    id: str
    task: str
    verifier: VerifierSpec
    depends_on: tuple[str, ...] = ()
    retries: int = 0
    """Further attempts, each told what the verifier said."""
    checkpoint: bool = True
    """Whether it stays done once it has passed; otherwise it is done again whenever the mission goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mission:
    """What a mission file says."""

    name: str
    goal: str
    path: Path
    proposer: Player
    judge: Player
    limits: Limits
    """Of all the times together that it is carried out."""
    sandbox: Sandbox
    policy: Policy
    steps: tuple[Step, ...]

    def step(self, name: str) -> Step:
        """Returns a step; UsageError names the nearest."""
        for step in self.steps:
            if step.id == name:
                return step
        raise UsageError(f"there is no step {name!r}", hint=nearest(name, [s.id for s in self.steps]))

    def task_digest(self, step: Step) -> str:
        """Returns what must be the same for a step that has passed to count: task, goal, model, verifier."""
        return digest([self.goal, step.task, self.proposer.to_json(), step.verifier.fingerprint])


def inputs_digest(inputs: Mapping[str, str]) -> str:
    """Returns the digest of what a step was given."""
    return digest(dict(inputs))


def read_mission(path: Path) -> Mission:
    """Reads a file; FormatError names line and field of what is wrong."""
    table = read_table(path).only(FIELDS)
    proposer = _player(table, "proposer")
    steps = tuple(_step(item) for item in table.tables("steps"))
    _check_order(table, steps)
    limits, policy = read_limits(table, "budget"), load_policy()
    return Mission(
        name=table.text("name"),
        goal=table.text("goal", ""),
        path=path.resolve(),
        proposer=proposer,
        judge=_player(table, "judge") if "judge" in table else proposer,
        limits=replace(limits, calls=CALLS if limits.calls is None else limits.calls),
        sandbox=replace(read_sandbox(table.table("sandbox")), policy=policy),
        policy=policy,
        steps=steps,
    )


def _player(table: Table, name: str) -> Player:
    return read_player(table.table(name)) if name in table else Player(provider=RULES, folder=table.path.parent)


def _step(table: Table) -> Step:
    table.only(STEP_FIELDS)
    if "verifier" not in table:
        table.fail("verifier", "is missing: no step is done without one")
    return Step(
        id=table.text("id"),
        task=table.text("task"),
        verifier=read_verifier(table.table("verifier")),
        depends_on=table.texts("depends_on", ()),
        retries=table.whole("retries", 0),
        checkpoint=table.flag("checkpoint", default=True),
    )


def _check_order(table: Table, steps: tuple[Step, ...]) -> None:
    names = [step.id for step in steps]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        table.fail("steps", f"two steps are called {double!r}")
    for step, item in zip(steps, table.tables("steps"), strict=True):
        for other in step.depends_on:
            if other not in names:
                item.fail("depends_on", f"there is no step {other!r}", hint=nearest(other, names))
    try:
        TopologicalSorter({step.id: step.depends_on for step in steps}).prepare()
    except CycleError as error:
        table.fail("steps", "steps depend on each other in a circle: " + " → ".join(error.args[1]))
