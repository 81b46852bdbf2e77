"""What an output is worth."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from ....ingest.calls import Json
from ....ingest.errors import FormatError
from ..play.exchanges import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an output is worth."""

    score: float
    """In [0, 1]."""
    feedback: tuple[str, ...] = ()
    """What to do better."""
    metrics: Mapping[str, Json] = field(default_factory=dict)
    judged: tuple[Exchange, ...] = ()
    """The model calls that it took."""


def read_score(value: Any, place: str) -> Score:
    """Reads `{"score": 0..1, "feedback": […], "metrics": {…}}`; FormatError says what is wrong with it."""
    score = value.get("score") if isinstance(value, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise FormatError(f"{place}: it gave {value!r}", hint='it must give {"score": 0..1, "feedback": [text, …]}')
    feedback = value.get("feedback", [])
    if not isinstance(feedback, list):
        raise FormatError(f"{place}: feedback must be a list of texts, not {feedback!r}")
    return Score(score=float(score), feedback=tuple(map(str, feedback)), metrics=value.get("metrics") or {})


def schema_score(schema: Mapping[str, Json], text: str) -> Score | None:
    """Returns the score of a text that is not the JSON it should be, which is 0; None when it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return Score(score=0.0, feedback=("answer with JSON and nothing else",))
    problem = next(iter(jsonschema.Draft202012Validator(dict(schema)).iter_errors(value)), None)
    if problem is None:
        return None
    return Score(score=0.0, feedback=(f"in the JSON of the answer, {problem.json_path}: {problem.message}",))


def output_of(text: str, calls: Any) -> dict[str, Json]:
    """Returns an answer as evaluators and environments get it."""
    return {"text": text, "tool_calls": [{"name": c.name, "arguments": c.arguments} for c in calls]}
