"""Candidates of the user's own: rules, whole prompts, other models, other parameters."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ingest.calls import Json
from ...ingest.errors import FormatError, UsageError
from ..interventions import InsertRule, Intervention, SetParameter, SwapModel, SystemPrompt
from .candidates import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCandidates:
    """What the user wants to have measured besides the built-in candidates."""

    rules: Sequence[str] = ()
    """Each a rule, or the name of a file that holds one."""
    prompts: Sequence[Path] = ()
    """Files with a whole system prompt."""
    models: Sequence[str] = ()
    parameters: Sequence[str] = ()
    """Each `NAME=VALUE`, the value in JSON or plain text; `null` takes the parameter away."""

    def candidates(self) -> tuple[Candidate, ...]:
        """Returns the candidates; UsageError or FormatError when one cannot be read."""
        return (
            *(_named(f"own-{n}", _title(rule), InsertRule(_rule(rule))) for n, rule in enumerate(self.rules, 1)),
            *(_named(f"system-{n}", f"prompt {p.name}", SystemPrompt(_read(p))) for n, p in enumerate(self.prompts, 1)),
            *(_named(f"model-{m}", f"model {m}", SwapModel(m)) for m in self.models),
            *(_parameter(text) for text in self.parameters),
        )


def _named(name: str, title: str, intervention: Intervention) -> Candidate:
    return Candidate(name=name, title=title, intervention=intervention)


def _is_file(rule: str) -> bool:
    # A rule of many words is longer than a file name may be; asking the file system about it would fail.
    return "\n" not in rule and len(rule) < 256 and Path(rule).is_file()


def _title(rule: str) -> str:
    if _is_file(rule):
        return f"rule {Path(rule).name}"
    flat = " ".join(rule.split())
    return f"rule {flat!r}" if len(flat) <= 40 else f"rule {flat[:39]!r}…"


def _rule(rule: str) -> str:
    text = _read(Path(rule)) if _is_file(rule) else rule.strip()
    if not text:
        raise UsageError("a candidate is empty", hint="give a rule, or a file that holds one")
    return text


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error


def _parameter(text: str) -> Candidate:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"{text!r} is no parameter", hint="write NAME=VALUE, for example temperature=0")
    return _named(f"parameter-{name}", text, SetParameter.of(name, _value(value)))


def _value(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text
