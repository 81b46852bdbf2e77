"""What scores an output: a function of the user's, a command, pytest, an expected outcome, or a model with a rubric."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ....ingest.calls import Json
from ....ingest.errors import UsageError
from ...canonical import digest
from ...yaml_files import Table
from ..play.players import FIELDS, Player, read_player
from .expectations import parse_expectation
from .own_code import OwnCode
from .sandbox import Sandbox, read_sandbox

KINDS = ("module", "command", "pytest", "judge", "predicate")
_OWN = {"module": ("function",), "judge": ("rubric",)}
"""Kind → its further fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSpec:
    """`evaluator` of a scenario."""

    kind: str
    place: str
    """File and field, for errors."""
    options: Mapping[str, Json]
    judge: Player | None = None
    folder: Path
    sandbox: Sandbox = field(default_factory=Sandbox)

    @property
    def fingerprint(self) -> str:
        """Digest of what decides about scores: the options, the code, the judge."""
        code = self.code.fingerprint if self.kind == "module" else ""
        return digest([self.kind, dict(self.options), code, self.judge.to_json() if self.judge else None])

    @property
    def code(self) -> OwnCode:
        """The function of a `module`."""
        name = str(self.options.get("function", "evaluate"))
        return OwnCode(path=self.folder / f"{self.options['module']}.py", name=name, place=self.place)


def read_evaluator(table: Table) -> EvaluatorSpec:
    """Reads the field `evaluator`."""
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        table.fail("kind", "give exactly one of " + ", ".join(KINDS))
    kind = kinds[0]
    table.only([kind, *_OWN.get(kind, ()), "sandbox"])
    _check(table, kind)
    return EvaluatorSpec(
        kind=kind,
        place=f"{table.path}: {table.place}",
        options={k: v for k, v in table.plain().items() if k not in ("judge", "sandbox")},
        judge=read_player(table.table("judge").only(FIELDS)) if kind == "judge" else None,
        folder=table.path.parent,
        sandbox=read_sandbox(table.table("sandbox")),
    )


def _check(table: Table, kind: str) -> None:
    if kind == "predicate":
        try:
            parse_expectation(table.text(kind))
        except UsageError as error:
            table.fail(kind, error.message, hint=error.hint)
    elif kind == "module":
        table.text(kind)
    elif kind == "command":
        table.texts(kind)
    else:
        table.table(kind)
    if kind == "judge":
        table.text("rubric")
