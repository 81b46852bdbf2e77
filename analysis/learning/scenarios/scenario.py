"""A scenario: a folder with `scenario.yaml`, cases, and what scores an output; a test bench that can be reused."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from ....ingest.calls import Api, Body, Json
from ....ingest.errors import FormatError, NotFoundError, UsageError
from ...canonical import digest
from ...cases import Case
from ...policy import NO_POLICY, Policy, load_policy
from ...yaml_files import Table, read_table
from ..play.environments import EnvironmentSpec, read_environment
from ..play.players import Player, read_player
from ..scoring.expectations import parse_expectation
from ..scoring.spec import EvaluatorSpec, read_evaluator

SCENARIOS = Path("scenarios")
BRANCH = "@"
"""Between a scenario and a branch of what it has learned: `support@bold`."""
FAMILIES = (
    "agent_task", "artifact_editing", "workflow", "tool_fragility", "schema_evolution", "operator_loop",
    "investigation", "simulation", "game", "negotiation", "coordination",
)  # fmt: skip
FIELDS = (
    "name", "family", "description", "input_schema", "output_schema", "proposer", "evaluator", "environment", "cases",
    "roles", "samples",
)  # fmt: skip
PLAYED = ("simulation", "game", "negotiation", "coordination")
"""Families that need an environment."""
ROLES = ("analyst", "coach", "curator", "architect")
_EXPLORED_SHARE = 4
"""One case in so many is for finding lessons, the rest is for testing them."""
_TEMPLATES = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioCase:
    """One input, or one frozen decision with what should come of it."""

    name: str
    input: Mapping[str, Json] = field(default_factory=dict)
    frozen: Case | None = None
    expect: str = ""
    """Of a frozen decision: `never EVENT` or `always EVENT`."""
    heldout: bool = False

    @property
    def id(self) -> str:
        """SHA-256 of what is asked, 64 hex digits; renaming a case does not make it another one."""
        return digest([dict(self.input), self.frozen.id if self.frozen else "", self.expect])


@dataclass(frozen=True)
class Scenario:
    """What `scenario.yaml` says."""

    name: str
    family: str
    description: str
    folder: Path
    proposer: Player
    evaluator: EvaluatorSpec | None
    """None where an environment scores."""
    cases: tuple[ScenarioCase, ...]
    roles: Mapping[str, Player] = field(default_factory=dict)
    samples: int = 1
    """Samples of each case in a pair: more for a model that is noisy."""
    input_schema: Mapping[str, Json] = field(default_factory=dict)
    output_schema: Mapping[str, Json] = field(default_factory=dict)
    """JSON Schema of what the proposer must answer; empty for text. Another answer is worth nothing."""
    environment: EnvironmentSpec | None = None
    """What the proposer acts in; None for a single answer."""
    policy: Policy = NO_POLICY

    @cached_property
    def explored(self) -> tuple[ScenarioCase, ...]:
        """Cases that lessons are found on. A case stays on its side when others are added."""
        return tuple(c for c in self._open if c in self._chosen)

    @cached_property
    def confirming(self) -> tuple[ScenarioCase, ...]:
        """Cases that lessons are tested on, and that nobody who proposes has seen."""
        return tuple(c for c in self._open if c not in self._chosen)

    @cached_property
    def heldout(self) -> tuple[ScenarioCase, ...]:
        """Cases that are asked last."""
        return tuple(c for c in self._ordered if c.heldout)

    @cached_property
    def _ordered(self) -> list[ScenarioCase]:
        return sorted(self.cases, key=lambda case: case.id)

    @property
    def _open(self) -> list[ScenarioCase]:
        return [c for c in self._ordered if not c.heldout]

    @property
    def _chosen(self) -> list[ScenarioCase]:
        chosen = [c for c in self._open if int(c.id[:8], 16) % _EXPLORED_SHARE == 0]
        return chosen or self._open[:1]

    @cached_property
    def epoch(self) -> str:
        """What scores and what is scored: evidence of another epoch does not count."""
        scored_by = [part.fingerprint for part in (self.evaluator, self.environment) if part]
        parts = [
            *scored_by,
            dict(self.output_schema),
            self.proposer.to_json(),
            self.proposer.system,
            self.proposer.prompt,
            *self.policy.answer_rules,
        ]
        return "ep_" + digest(parts)[:12]

    @property
    def players(self) -> tuple[Player, ...]:
        """Everybody who is asked."""
        judge = self.evaluator.judge if self.evaluator else None
        return (self.proposer, *((judge,) if judge else ()), *self.roles.values())

    def api_of(self, case: ScenarioCase) -> Api:
        """Returns the form of a case's requests."""
        return case.frozen.api if case.frozen else self.proposer.api

    def request(self, case: ScenarioCase, variables: Mapping[str, Json] | None = None, *, message: str = "") -> Body:
        """Returns the request of a case without lessons; `message` is the first of an environment."""
        if case.frozen:
            return case.frozen.request
        values = {"input": case.input, "variables": dict(variables or {}), "message": message}
        prompt = self.proposer.prompt or ("{{ message }}" if self.environment else "{{ input | tojson }}")
        try:
            return self.proposer.request(_TEMPLATES.from_string(prompt).render(values))
        except TemplateError as error:
            raise FormatError(f"{self.folder / 'scenario.yaml'}: proposer.prompt: {error.message}") from error


def is_plain_name(name: str) -> bool:
    """Whether a name can be that of a folder: letters, digits, _ and -."""
    return bool(name) and all(c.isalnum() or c in "_-" for c in name)


def find_scenario(name: str) -> Path:
    """Returns the folder of a scenario that is named, or given as a path; NotFoundError lists those there are.

    What follows an `@` names a branch of what it has learned.
    """
    name = name.partition(BRANCH)[0]
    for folder in (SCENARIOS / name, Path(name)):
        if (folder / "scenario.yaml").is_file():
            return folder
    known = sorted(p.parent.name for p in SCENARIOS.glob("*/scenario.yaml"))
    hint = "known: " + ", ".join(known) if known else "whyspan scenario new --template agent_task --name tests"
    raise NotFoundError(f"there is no scenario {name!r}", hint=hint)


def read_scenario(folder: Path) -> Scenario:
    """Reads a scenario; FormatError names file, line and field of what is wrong."""
    table = read_table(folder / "scenario.yaml").only(FIELDS)
    input_schema = table.table("input_schema").plain()
    roles = table.table("roles").only(ROLES)
    family = table.choice("family", FAMILIES, "agent_task")
    wanted = "environment" if family in PLAYED or "environment" in table else "evaluator"
    if wanted not in table:
        table.fail(wanted, f"is missing: it scores a scenario of the family {family}")
    if wanted == "environment" and "evaluator" in table:
        table.fail("evaluator", "the environment scores: give one of the two")
    return Scenario(
        name=table.text("name"),
        family=family,
        description=table.text("description", ""),
        folder=folder,
        proposer=read_player(table.table("proposer")),
        evaluator=read_evaluator(table.table("evaluator")) if wanted == "evaluator" else None,
        cases=tuple(_cases(table, folder, input_schema)),
        roles={role: read_player(roles.table(role)) for role in ROLES if role in roles},
        samples=table.whole("samples", 1, least=1),
        input_schema=input_schema,
        output_schema=table.table("output_schema").plain(),
        environment=read_environment(table.table("environment")) if wanted == "environment" else None,
        policy=load_policy(),
    )


def _cases(table: Table, folder: Path, schema: Mapping[str, Json]) -> Iterator[ScenarioCase]:
    paths = sorted(folder.glob(table.text("cases", "cases/*.json")))
    if not paths:
        table.fail("cases", "no file matches")
    for path in paths:
        yield from read_cases(path, schema)


def read_cases(path: Path, schema: Mapping[str, Json]) -> list[ScenarioCase]:
    """Reads a file with one case or a list of them; FormatError names the case and the field."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FormatError(f"{path} is not valid JSON: {error}") from error
    items = value if isinstance(value, list) else [value]
    names = [path.stem] if len(items) == 1 else [f"{path.stem}-{n}" for n in range(len(items))]
    return [_case(item, name, path, schema) for name, item in zip(names, items, strict=True)]


def _case(item: Any, name: str, path: Path, schema: Mapping[str, Json]) -> ScenarioCase:
    if not isinstance(item, dict):
        raise FormatError(f"{path}: {name} must be an object, not {item!r}")
    if "case" in item:
        expect = str(item.get("expect", ""))
        try:
            parse_expectation(expect)
        except UsageError as error:
            raise FormatError(f"{path}: {name}: expect: {error.message}", hint=error.hint) from error
        return ScenarioCase(
            name=name, frozen=Case.from_json(item["case"]), expect=expect, heldout=bool(item.get("heldout", False))
        )
    values = {k: v for k, v in item.items() if k != "heldout"}
    problem = next(iter(jsonschema.Draft202012Validator(dict(schema)).iter_errors(values)), None)
    if problem is not None:
        raise FormatError(f"{path}: {name}: {problem.json_path}: {problem.message}", hint="input_schema says so")
    return ScenarioCase(name=name, input=values, heldout=bool(item.get("heldout", False)))
