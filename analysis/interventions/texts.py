"""Edits of what the model reads: pieces left out, texts replaced, rules and messages added."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ...ingest.calls import Json
from ...ingest.errors import UsageError
from ..attribution.problem import Role
from ..canonical import digest
from ..cases import Case
from ..document.json_text import is_container
from ..fields import (
    Pointer,
    emptied_to_valid,
    text_fields,
    value_at,
    with_system,
    with_system_rule,
    with_user_message,
    with_values,
)
from ..segments import Segmentation, segment
from .edit import Edit


@dataclass(frozen=True, slots=True)
class Drop(Edit):
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
class Replace(Edit):
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
class InsertRule(Edit):
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
class SystemPrompt(Edit):
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
class InsertMessage(Edit):
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
