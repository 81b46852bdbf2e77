"""What a fix means for a prompt file: a unified diff to read and apply. Files are never edited here."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from ...ingest.errors import FormatError, UsageError
from ..cases import Case
from ..fields import system_prompt
from ..interventions import InsertRule, SystemPrompt
from .candidates import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiff:
    """A change of a prompt file."""

    diff: str
    """Unified diff, as `patch -p0` and `git apply -p0` take it; empty when nothing changes."""
    is_the_recorded_prompt: bool
    """Whether the file holds the prompt that was measured, or is a part of it."""


def diff_prompt(path: Path, case: Case, candidate: Candidate) -> PromptDiff:
    """Returns the diff that puts a candidate into a prompt file; UsageError for a change that is none of the prompt."""
    try:
        before = path.read_bytes().decode("utf-8")  # line ends as they are
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    recorded = " ".join(system_prompt(case.api, case.request).split())
    words = " ".join(before.split())
    lines = difflib.unified_diff(_lines(before), _lines(_changed(before, candidate)), str(path), str(path))
    return PromptDiff(diff="".join(_marked(line) for line in lines), is_the_recorded_prompt=words in recorded)


def _changed(text: str, candidate: Candidate) -> str:
    match candidate.intervention:
        case InsertRule(rule=rule):
            body = text.rstrip("\r\n")
            return _with_line_ends(text, f"{body}\n\n{rule}\n" if body else f"{rule}\n")
        case SystemPrompt(prompt=prompt):
            return _with_line_ends(text, prompt.rstrip("\n") + "\n")
        case _:
            raise UsageError(f"{candidate.title!r} is no change of a prompt, so there is nothing to apply to a file")


def _with_line_ends(like: str, text: str) -> str:
    """Returns a text with the line ends of another one."""
    lines = text.replace("\r\n", "\n")
    return lines.replace("\n", "\r\n") if "\r\n" in like else lines


def _lines(text: str) -> list[str]:
    """Cuts at line feeds alone, as `patch` does."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _marked(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
