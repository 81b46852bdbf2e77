"""What an intervention is, and those that change nothing or combine others."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol

from ...ingest.calls import Json
from ..canonical import digest
from ..cases import Case


class Intervention(Protocol):
    """A pure edit of a case."""

    @property
    def kind(self) -> str:
        """`noop`, `drop`, `replace`, `insert`, `system`, `message`, `tool`, `model`, `parameter` or `several`."""
        ...

    @property
    def summary(self) -> str:
        """One line for people; may quote the trace."""
        ...

    def to_json(self) -> dict[str, Json]:
        """The form that identifies it and `intervention_from_json` reads."""
        ...

    def apply(self, case: Case) -> Case:
        """Returns the edited case."""
        ...


class Edit:
    """What all edits share: their JSON form is their kind and their fields."""

    __slots__ = ()
    kind: ClassVar[str]

    def to_json(self) -> dict[str, Json]:
        """Returns kind and fields."""
        assert is_dataclass(self)  # every edit is one
        return {"kind": self.kind, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}


def _plain(value: Any) -> Json:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value.to_json() if isinstance(value, Edit) else value


def intervention_id(intervention: Intervention) -> str:
    """Returns the SHA-256 of an intervention, 64 hex digits."""
    return digest(intervention.to_json())


@dataclass(frozen=True, slots=True)
class Noop(Edit):
    """The control: changes nothing."""

    kind: ClassVar[str] = "noop"
    summary: ClassVar[str] = "the request as it was sent"

    def apply(self, case: Case) -> Case:
        """Returns the case itself."""
        return case


@dataclass(frozen=True, slots=True)
class Several(Edit):
    """Interventions one after the other."""

    parts: tuple[Intervention, ...]

    kind: ClassVar[str] = "several"

    @property
    def summary(self) -> str:
        """All of them."""
        return ", ".join(p.summary for p in self.parts)

    def apply(self, case: Case) -> Case:
        """Applies the parts in order."""
        for part in self.parts:
            case = part.apply(case)
        return case
