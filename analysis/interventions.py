"""Interventions: pure edits of a case, each with a kind, a digest, and a line that says what it does.

`Noop` is the control. An intervention is identified by what it is, not by the case it is applied to, and `Several`
composes them. What an intervention is about must be there: a text or tool that the request does not have is an error,
never an edit that does nothing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol

from ..ingest.calls import Json
from ..ingest.errors import FormatError, UsageError
from .attribution.problem import Role
from .canonical import canonical_json, digest
from .cases import Case
from .document.json_text import is_container
from .fields import (
    Pointer,
    emptied_to_valid,
    text_fields,
    value_at,
    with_system,
    with_system_rule,
    with_tool_definition,
    with_user_message,
    with_values,
)
from .parameters import with_parameter
from .segments import Segmentation, segment


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


class _Edit:
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
    return value.to_json() if isinstance(value, _Edit) else value


def intervention_id(intervention: Intervention) -> str:
    """Returns the SHA-256 of an intervention, 64 hex digits."""
    return digest(intervention.to_json())


@dataclass(frozen=True, slots=True)
class Noop(_Edit):
    """The control: changes nothing."""

    kind: ClassVar[str] = "noop"
    summary: ClassVar[str] = "the request as it was sent"

    def apply(self, case: Case) -> Case:
        """Returns the case itself."""
        return case


@dataclass(frozen=True, slots=True)
class Drop(_Edit):
    """Removes texts wherever they stand in the request."""

    texts: tuple[str, ...]
    """Whitespace-folded texts of the segment groups, in reading order."""

    @classmethod
    def of(cls, segmentation: Segmentation, groups: frozenset[int]) -> "Drop":
        """The removal of these groups."""
        return cls(tuple(segmentation.said(g) for g in sorted(groups)))

    kind: ClassVar[str] = "drop"

    @property
    def summary(self) -> str:
        """Names the only text, or how many there are."""
        return f"without {self.texts[0]!r}" if len(self.texts) == 1 else f"without {len(self.texts)} pieces"

    def apply(self, case: Case) -> Case:
        """Cuts the request into segments and leaves out those that say one of the texts."""
        cut = segment(case.api, case.request)
        return case.with_request(cut.without(cut.groups_saying(self.texts)))


@dataclass(frozen=True, slots=True)
class Replace(_Edit):
    """Puts another text in the place of one, wherever the model reads it: a fact corrected, a tool result edited."""

    old: str
    new: str
    tool: str = ""
    """Only in results of this tool; everywhere when empty."""

    kind: ClassVar[str] = "replace"

    @property
    def summary(self) -> str:
        """Both texts."""
        where = f" in the results of {self.tool}" if self.tool else ""
        return f"{self.old!r} replaced by {self.new!r}{where}"

    def apply(self, case: Case) -> Case:
        """Replaces every occurrence; UsageError when there is none."""
        changes: list[tuple[Pointer, Json]] = []
        for field in text_fields(case.api, case.request):
            if self.tool and (field.role is not Role.TOOL or field.tool != self.tool):
                continue
            value = _replaced(value_at(case.request, field.pointer), self.old, self.new)
            if value is not None:
                changes.append((field.pointer, value))
        if not changes:
            raise UsageError(f"the request does not say {self.old!r}", hint="`whyspan segments` lists what it says")
        edited = with_values(case.request, changes)
        return case.with_request(emptied_to_valid(case.api, edited, case.request))


def _replaced(value: Any, old: str, new: str) -> Any:
    """Returns a value with a text replaced in its strings, JSON in them opened; None when it is not there."""
    if isinstance(value, str) and is_container(value):
        inner = _replaced(json.loads(value), old, new)
        return None if inner is None else json.dumps(inner, ensure_ascii=False)
    if isinstance(value, str):
        return value.replace(old, new) if old in value else None
    if isinstance(value, dict):
        found = {k: r for k, v in value.items() if (r := _replaced(v, old, new)) is not None}
        return {**value, **found} if found else None
    if isinstance(value, list):
        items = [_replaced(v, old, new) for v in value]
        if all(i is None for i in items):
            return None
        return [v if i is None else i for v, i in zip(value, items, strict=True)]
    return None


@dataclass(frozen=True, slots=True)
class InsertRule(_Edit):
    """Adds a rule at the end of the system prompt."""

    rule: str

    kind: ClassVar[str] = "insert"

    @property
    def summary(self) -> str:
        """The rule itself."""
        return f"with the rule {self.rule!r}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the rule."""
        return case.with_request(with_system_rule(case.api, case.request, self.rule))


@dataclass(frozen=True, slots=True)
class SystemPrompt(_Edit):
    """Puts another system prompt in the place of the recorded one."""

    prompt: str

    kind: ClassVar[str] = "system"

    @property
    def summary(self) -> str:
        """Only its digest: prompts are long."""
        return f"with the system prompt {digest(self.prompt)[:8]}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the prompt."""
        return case.with_request(with_system(case.api, case.request, self.prompt))


@dataclass(frozen=True, slots=True)
class InsertMessage(_Edit):
    """Adds a message of the user at the end."""

    text: str

    kind: ClassVar[str] = "message"

    @property
    def summary(self) -> str:
        """The message itself."""
        return f"with the user's message {self.text!r}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the message."""
        return case.with_request(with_user_message(case.api, case.request, self.text))


@dataclass(frozen=True, slots=True)
class EditTool(_Edit):
    """Describes a tool otherwise, or gives it another schema of arguments."""

    tool: str
    description: str | None = None
    schema_json: str | None = None
    """Canonical JSON of the schema, so that the intervention stays hashable."""

    kind: ClassVar[str] = "tool"

    @property
    def summary(self) -> str:
        """Which tool, and what of it."""
        parts = [w for w, v in (("description", self.description), ("schema", self.schema_json)) if v is not None]
        return f"with another {' and '.join(parts)} of the tool {self.tool}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the tool; UsageError when the request does not define it."""
        schema = None if self.schema_json is None else json.loads(self.schema_json)
        edited = with_tool_definition(case.api, case.request, self.tool, description=self.description, schema=schema)
        return case.with_request(edited)


@dataclass(frozen=True, slots=True)
class SwapModel(_Edit):
    """Asks another model of the same API."""

    model: str

    kind: ClassVar[str] = "model"

    @property
    def summary(self) -> str:
        """The model."""
        return f"asked of {self.model}"

    def apply(self, case: Case) -> Case:
        """Returns the case for the other model."""
        return case.with_request({**case.request, "model": self.model})


@dataclass(frozen=True, slots=True)
class SetParameter(_Edit):
    """Sets one parameter of the request, such as `temperature`; in the place where the API has it."""

    name: str
    value_json: str
    """Canonical JSON; `null` takes the parameter away."""

    @classmethod
    def of(cls, name: str, value: Json) -> "SetParameter":
        """The setting of a parameter to a value."""
        return cls(name, canonical_json(value))

    kind: ClassVar[str] = "parameter"

    @property
    def summary(self) -> str:
        """Name and value."""
        return f"without {self.name}" if self.value_json == "null" else f"with {self.name}={self.value_json}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the parameter."""
        return case.with_request(with_parameter(case.api, case.request, self.name, json.loads(self.value_json)))


@dataclass(frozen=True, slots=True)
class Several(_Edit):
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


_EDITS: Mapping[str, Callable[..., Intervention]] = {
    "noop": Noop,
    "drop": Drop,
    "replace": Replace,
    "insert": InsertRule,
    "system": SystemPrompt,
    "message": InsertMessage,
    "tool": EditTool,
    "model": SwapModel,
    "parameter": SetParameter,
    "several": Several,
}


def intervention_from_json(value: Mapping[str, Any]) -> Intervention:
    """Reads what `to_json` wrote; FormatError for anything else."""
    if value.get("kind") not in _EDITS:
        raise FormatError(f"{value.get('kind')!r} is not an intervention", hint=f"kinds: {', '.join(_EDITS)}")
    try:
        return _EDITS[value["kind"]](**{k: _argument(v) for k, v in value.items() if k != "kind"})
    except TypeError as error:
        raise FormatError(f"the intervention {value['kind']!r} cannot be read: {error}") from error


def _argument(value: Json) -> Any:
    if isinstance(value, list):
        return tuple(_argument(v) for v in value)
    return intervention_from_json(value) if isinstance(value, dict) else value
