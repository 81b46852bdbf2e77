"""`playbook.yaml`: the lessons of a scenario, in a file that people read, edit and review; the evidence is computed.

A lesson that somebody writes into it starts as `proposed`, like any other: only the gate makes it `active`.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from ....ingest.errors import FormatError
from ...yaml_files import Table, plain, read_yaml, yaml_form
from .lesson import Lesson
from .shelf import write_whole

KNOWLEDGE = Path("knowledge")
FIELDS = (
    "id", "condition", "action", "rationale", "confidence", "evidence", "scope", "status", "tokens", "parameter",
    "value",
)  # fmt: skip


class Status(StrEnum):
    """How a lesson stands."""

    PROPOSED = "proposed"
    """Not tested yet, or found on a single case."""
    ACTIVE = "active"
    """Served."""
    DEMOTED = "demoted"
    """Was served, and is not any more."""
    RETEST_DUE = "retest_due"
    """Scorer or model have changed since it was tested; not served until it is tested again."""
    REFUTED = "refuted"
    """Shown to harm."""
    INCONCLUSIVE = "inconclusive"
    """Tested, and not shown to help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A lesson in the playbook."""

    id: str
    """`rule_001`: a name for people."""
    lesson: Lesson
    status: Status
    evidence: dict[str, Any] = field(default_factory=dict)
    """What was measured: claim, e, effect, ci, cases, heldout, epoch, level."""
    scope: dict[str, Any] = field(default_factory=dict)

    @property
    def confidence(self) -> float:
        """1 - 1/e, and 0 where nothing was measured: computed, never stated."""
        e = float(self.evidence.get("e", 0.0))
        return max(0.0, 1 - 1 / e) if e > 0 else 0.0


class Playbook:
    """The file of one scenario, with comments and order kept."""

    def __init__(self, path: Path) -> None:
        """Reads the file, if there is one; FormatError names line and field of what is wrong."""
        self.path = path
        self._rows: CommentedSeq = CommentedSeq()
        if path.exists():
            rows = read_yaml(path)
            if rows is not None and not isinstance(rows, CommentedSeq):
                raise FormatError(f"{path}:1: must be a list of lessons, not {type(rows).__name__}")
            self._rows = rows if rows is not None else CommentedSeq()
        self.items = [self._item(row, n) for n, row in enumerate(self._rows)]

    def active(self) -> list[Lesson]:
        """Returns the lessons to serve."""
        return [item.lesson for item in self.items if item.status is Status.ACTIVE]

    def find(self, lesson_id: str) -> Item | None:
        """Returns the item of a lesson."""
        return next((item for item in self.items if item.lesson.id == lesson_id), None)

    def put(self, lesson: Lesson, status: Status, *, evidence: dict[str, Any], scope: dict[str, Any]) -> Item:
        """Adds a lesson, or changes how it stands."""
        known = self.find(lesson.id)
        if known is None:
            number = max((_number(item.id) for item in self.items), default=0) + 1
            item = Item(id=f"rule_{number:03}", lesson=lesson, status=status, evidence=evidence, scope=scope)
            self.items.append(item)
            self._rows.append(_row(CommentedMap(), item))
        else:
            item = replace(known, status=status, evidence=evidence or known.evidence, scope=scope or known.scope)
            place = self.items.index(known)
            self.items[place] = item
            _row(self._rows[place], item)
        return item

    def remove(self, names: Iterable[str]) -> None:
        """Takes items out of the file; the book of tests keeps them."""
        for item in [i for i in self.items if i.id in set(names)]:
            place = self.items.index(item)
            del self.items[place], self._rows[place]

    def save(self) -> None:
        """Writes the file under its name at once or not at all."""
        out = StringIO()
        yaml_form().dump(self._rows, out)
        write_whole(self.path, out.getvalue())

    def _item(self, row: Any, n: int) -> Item:
        if not isinstance(row, CommentedMap):
            raise FormatError(f"{self.path}: item {n + 1} must be a mapping, not {row!r}")
        table = Table(path=self.path, values=row, place=f"[{n}]").only(FIELDS)
        status = Status(table.choice("status", list(Status), Status.PROPOSED))
        evidence = table.table("evidence").plain()
        if status is Status.ACTIVE and "claim" not in evidence:
            table.fail("status", "active without evidence", hint="write status: proposed, then it is tested")
        parameter = table.text("parameter", "")
        lesson = Lesson(
            condition=table.text("condition", ""),
            action=table.text("action"),
            rationale=table.text("rationale", ""),
            parameter=parameter,
            value_json=json.dumps(plain(row.get("value"))) if parameter else "",
        )
        name = table.text("id", f"rule_{n + 1:03}")
        return Item(id=name, lesson=lesson, status=status, evidence=evidence, scope=table.table("scope").plain())


def _row(row: CommentedMap, item: Item) -> CommentedMap:
    lesson = item.lesson
    texts = {"condition": lesson.condition, "action": lesson.action, "rationale": lesson.rationale}
    values: dict[str, Any] = {"id": item.id, **{k: v for k, v in texts.items() if v}}
    if lesson.parameter:
        values |= {"parameter": lesson.parameter, "value": json.loads(lesson.value_json)}
    if item.evidence:
        values |= {"confidence": round(item.confidence, 6), "evidence": _flow(item.evidence)}
    if item.scope:
        values["scope"] = _flow(item.scope)
    values |= {"status": item.status.value, "tokens": lesson.tokens}
    for key, value in values.items():
        if plain(row.get(key)) != plain(value):
            row[key] = value
    return row


def _flow(value: dict[str, Any]) -> CommentedMap:
    result = CommentedMap({k: _finite(v) for k, v in value.items()})
    result.fa.set_flow_style()
    return result


def _finite(value: Any) -> Any:
    return 1e300 if isinstance(value, float) and math.isinf(value) else value


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0
