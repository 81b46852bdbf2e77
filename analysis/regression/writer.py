"""Writes a short pytest file that reads well in review, and the frozen case beside it."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ... import __version__
from ...ingest.errors import UsageError
from ..canonical import digest
from ..cases import Case
from ..claims import Claim
from ..fields import system_prompt, with_system, with_system_rule
from ..fixes.verify import Measured
from ..targets import TextTarget, ToolTarget
from .case_file import CaseFile, Verified, read_case_file, write_case_file, write_text

MAX_RATE = 0.1
"""What a written test allows: a fifth of it passes surely, four times it fails surely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTest:
    """The two files of a regression test."""

    test: Path
    case: Path


def write_test(path: Path, question: Case, *, claims: Sequence[Claim] = (), fix: Measured | None = None) -> WrittenTest:
    """Writes the test to `path` and the case to `cases/NAME.case.json` beside it.

    With a verified fix the test asks with the system prompt that has its rule. A test file that somebody has edited
    since it was written is never overwritten: UsageError says so.
    """
    if not path.name.startswith("test_") or path.suffix != ".py":
        raise UsageError(f"pytest would not find {path.name!r}", hint="call it test_NAME.py")
    name = path.stem.removeprefix("test_")
    case_path = path.parent / "cases" / f"{name}.case.json"
    _require_unedited(path, case_path)
    assertion, check = _assertion(question)
    text = _render(name, question, check, claims, fix)
    content = CaseFile(
        case=question,
        verified=(_verified(question, assertion, fix),) if fix else (),
        claims=tuple(c.to_json() for c in claims),
        created_with=f"whyspan {__version__}",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        test_sha256=_sha256(text),
    )
    write_case_file(case_path, content)
    write_text(path, text)
    return WrittenTest(test=path, case=case_path)


def _require_unedited(path: Path, case_path: Path) -> None:
    if not path.exists():
        return
    known = read_case_file(case_path).test_sha256 if case_path.exists() else ""
    if _sha256(path.read_text("utf-8")) != known:
        raise UsageError(
            f"{path} exists and is not as whyspan wrote it",
            hint="give another path, or remove it to have it written anew",
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _assertion(question: Case) -> tuple[str, str]:
    """Returns the assertion's name as `api` builds it, and the call that makes it."""
    match question.target:
        case ToolTarget(name=name, conditions=()):
            return f"never calls {name}", f"never_calls({name!r}, max_rate={MAX_RATE})"
        case TextTarget(pattern=pattern):
            return f"never matches {pattern}", f"never_matches({pattern!r}, max_rate={MAX_RATE})"
        case target:
            return f"never {target.label}", f"never_happens(max_rate={MAX_RATE})"


def _verified(question: Case, assertion: str, fix: Measured) -> Verified:
    prompt = _fixed_prompt(question, fix)
    return Verified(
        assertion=assertion,
        request=digest(with_system(question.request, prompt)),
        system=prompt,
        hits=fix.claim.changed.target,
        draws=fix.claim.changed.draws,
    )


def _fixed_prompt(question: Case, fix: Measured) -> str:
    return system_prompt(with_system_rule(question.request, fix.candidate.rule))


def _render(name: str, question: Case, check: str, claims: Sequence[Claim], fix: Measured | None) -> str:
    function = re.sub(r"\W+", "_", f"test_{name}_{question.target.label}").lower().strip("_")
    prompt = _fixed_prompt(question, fix) if fix else system_prompt(question.request)
    measured = "".join(f"\n{line}" for line in _history(claims, fix))
    return (
        f'"""{_sentence(question)}\n{measured}\n"""\n\n'
        "from whyspan import case\n\n"
        "# The prompt the agent runs with; import the real one from your code, so that this test follows it.\n"
        f"SYSTEM = {_literal(prompt)}\n\n\n"
        f"def {function}() -> None:\n"
        f"    case({name!r}).with_system(SYSTEM).{check}\n"
    )


def _sentence(question: Case) -> str:
    origin = question.origin
    trace = f" (trace {origin.trace_id}, span {origin.span_id})" if origin.trace_id else ""
    return f"Regression test of a recorded decision{trace}, written by whyspan {__version__}."


def _history(claims: Sequence[Claim], fix: Measured | None) -> list[str]:
    lines = [
        f"Cause found: {c.base.target} of {c.base.draws} replays as recorded, {c.changed.target} of {c.changed.draws}"
        f" without the piece (e-value {c.e_value:.3g})."
        for c in claims
        if c.kind == "cause"
    ][:1]
    if fix:
        c = fix.claim
        lines.append(f"With the {fix.candidate.title}: {c.changed.target} of {c.changed.draws} replays.")
    else:
        lines.append("No fix is in the prompt below yet, so the test fails.")
    return lines


def _literal(text: str) -> str:
    """Returns a Python literal that shows a prompt line by line, whatever it holds."""
    if "\n" not in text and len(text) < 80:
        return repr(text)
    lines = text.splitlines(keepends=True)
    return "(\n" + "".join(f"    {line!r}\n" for piece in lines for line in _wrap(piece)) + ")"


def _wrap(line: str, width: int = 100) -> list[str]:
    """Cuts a long line at spaces; joined, the parts are the line again."""
    parts: list[str] = []
    for word in re.findall(r"\S*\s*", line):
        if parts and len(parts[-1]) + len(word) <= width:
            parts[-1] += word
        elif word:
            parts.append(word)
    return parts
