"""Lessons: what a later run should do differently, as a rule for the prompt or a setting of the model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ....ingest.calls import Api, Body
from ...canonical import canonical_json, digest
from ...fields import with_system_rule
from ...parameters import with_parameter

HEADING = "Lessons from earlier runs, each of them tested:"
TOKEN_CHARACTERS = 4
"""Characters a token, roughly: what a lesson costs in every prompt is shown, not billed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One proposal, tested or not."""

    condition: str = ""
    """When it applies."""
    action: str
    """What to do then; of a setting, its description."""
    rationale: str = ""
    parameter: str = ""
    """Name of the setting; empty for a rule."""
    value_json: str = ""
    """Its value as canonical JSON."""

    @property
    def id(self) -> str:
        """SHA-256 of what it changes, whatever its case, spacing or rationale; 64 hex digits."""
        words = " ".join(f"{self.condition}: {self.action}".lower().split()).rstrip(".")
        return digest([self.parameter, self.value_json] if self.parameter else words)

    @property
    def text(self) -> str:
        """One line for people, and for the prompt."""
        if self.parameter:
            return f"set {self.parameter} to {self.value_json}"
        return f"When {self.condition}: {self.action}" if self.condition else self.action

    @property
    def tokens(self) -> int:
        """About how many tokens it adds to every prompt."""
        return 0 if self.parameter else -(-len(self.text) // TOKEN_CHARACTERS)


def setting(name: str, value: object, *, rationale: str) -> Lesson:
    """Returns the lesson that sets a parameter of the model."""
    text = canonical_json(value)
    return Lesson(action=f"set {name} to {text}", rationale=rationale, parameter=name, value_json=text)


def with_lessons(api: Api, request: Body, lessons: Sequence[Lesson]) -> Body:
    """Returns a request in which lessons are served; the order in which they were learned does not matter."""
    ordered = sorted(lessons, key=lambda lesson: lesson.id)
    rules = [f"- {lesson.text}" for lesson in ordered if not lesson.parameter]
    if rules:
        request = with_system_rule(api, request, "\n".join([HEADING, *rules]))
    for lesson in ordered:
        if lesson.parameter:
            request = with_parameter(api, request, lesson.parameter, json.loads(lesson.value_json))
    return request


def bundle_id(lessons: Sequence[Lesson]) -> str:
    """Returns the digest of a set of lessons, 64 hex digits."""
    return digest(sorted(lesson.id for lesson in lessons))
