"""Interventions: pure edits of a request, each with a kind, a digest, and a line that says what it does.

`Noop` is the control. An intervention is identified by what it is, not by the request it is applied to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..ingest.calls import Body, Json
from ..ingest.errors import FormatError
from .canonical import digest
from .fields import with_system_rule
from .segments import Segmentation, segment


class Intervention(Protocol):
    """A pure edit of a request."""

    @property
    def kind(self) -> str:
        """`noop`, `drop` or `insert`."""
        ...

    @property
    def summary(self) -> str:
        """One line for people; may quote the trace."""
        ...

    def to_json(self) -> dict[str, Json]:
        """The form that identifies it and `intervention_from_json` reads."""
        ...

    def apply(self, body: Body) -> Body:
        """Returns the edited request."""
        ...


def intervention_id(intervention: Intervention) -> str:
    """Returns the SHA-256 of an intervention, 64 hex digits."""
    return digest(intervention.to_json())


@dataclass(frozen=True, slots=True)
class Noop:
    """The control: changes nothing."""

    kind = "noop"
    summary = "the request as it was sent"

    def to_json(self) -> dict[str, Json]:
        """Just its kind."""
        return {"kind": self.kind}

    def apply(self, body: Body) -> Body:
        """Returns the request itself."""
        return body


@dataclass(frozen=True, slots=True)
class Drop:
    """Removes texts wherever they stand in the request."""

    texts: tuple[str, ...]
    """Whitespace-folded texts of the segment groups, in reading order."""

    @classmethod
    def of(cls, segmentation: Segmentation, groups: frozenset[int]) -> "Drop":
        """The removal of these groups."""
        return cls(tuple(segmentation.said(g) for g in sorted(groups)))

    kind = "drop"

    @property
    def summary(self) -> str:
        """Names the only text, or how many there are."""
        return f"without {self.texts[0]!r}" if len(self.texts) == 1 else f"without {len(self.texts)} pieces"

    def to_json(self) -> dict[str, Json]:
        """Kind and texts."""
        return {"kind": self.kind, "texts": list(self.texts)}

    def apply(self, body: Body) -> Body:
        """Cuts the request into segments and leaves out those that say one of the texts."""
        cut = segment(body)
        return cut.without(cut.groups_saying(self.texts))


@dataclass(frozen=True, slots=True)
class InsertRule:
    """Adds a rule at the end of the system prompt."""

    rule: str

    kind = "insert"

    @property
    def summary(self) -> str:
        """The rule itself."""
        return f"with the rule {self.rule!r}"

    def to_json(self) -> dict[str, Json]:
        """Kind and rule."""
        return {"kind": self.kind, "rule": self.rule}

    def apply(self, body: Body) -> Body:
        """Returns the request with the rule."""
        return with_system_rule(body, self.rule)


def intervention_from_json(value: Mapping[str, Any]) -> Intervention:
    """Reads what `to_json` wrote; FormatError for anything else."""
    match value:
        case {"kind": "noop"}:
            return Noop()
        case {"kind": "drop", "texts": [*texts]}:
            return Drop(tuple(map(str, texts)))
        case {"kind": "insert", "rule": str(rule)}:
            return InsertRule(rule)
    raise FormatError(f"{value.get('kind')!r} is not an intervention", hint="kinds: noop, drop, insert")
