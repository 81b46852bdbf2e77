"""Writes a short pytest file that reads well in review, and the frozen case beside it."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ... import __version__
from ...ingest.errors import UsageError
from ..attribution.problem import Tally
from ..canonical import digest
from ..cases import Case
from ..claims import Claim
from ..fields import system_prompt, with_system
from ..fixes.verify import Measured
from ..statistics.sequential import Answer, RateTest
from ..targets import TextTarget, ToolTarget
from .case_file import SUFFIX, CaseFile, Verified, read_case_file, write_case_file, write_text
from .redaction import SECRETS, Redacted, Rule, redact
from .review import Review, review

MAX_RATES = (0.05, 0.1, 0.2)
"""What a written test may allow: the smallest one that the replays of its fix have shown to hold."""


PROMPT_COMMENT = "# The prompt the agent runs with. Import the real one or give its path, and this test follows it."


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTest:
    """The two files of a regression test."""

    test: Path
    case: Path
    review: Review
    """What leaves the store with the case file."""
    is_verified: bool
    """Whether the test passes in recorded mode: its prompt was shown to hold."""


def write_test(
    path: Path,
    question: Case,
    *,
    claims: Sequence[Claim] = (),
    fix: Measured | None = None,
    rules: Sequence[Rule] = SECRETS,
) -> WrittenTest:
    """Writes the test to `path` and the case to `cases/NAME.case.json` beside it, redacted by `rules`.

    With a measured rule the test asks with the system prompt that has it. UsageError when the path is no pytest file,
    when somebody has edited the test since it was written, or when the case file of that name holds another case.
    """
    if not path.name.startswith("test_") or path.suffix != ".py":
        raise UsageError(f"pytest would not find {path.name!r}", hint="call it test_NAME.py")
    name = path.stem.removeprefix("test_")
    redacted = redact(question, rules)
    known = _known(path, path.parent / "cases" / f"{name}{SUFFIX}", redacted.case)
    plan = _plan(redacted, fix)
    text = _render(name, plan, claims)
    content = replace(
        known or _new_file(redacted),
        claims=tuple(redacted.clean(c.to_json()) for c in claims) or (known.claims if known else ()),
        tests={**(known.tests if known else {}), path.name: _sha256(text)},
    )
    if plan.verified:
        content = content.with_verified(plan.verified)
    case_path = path.parent / "cases" / f"{name}{SUFFIX}"
    write_case_file(case_path, content)
    write_text(path, text)
    return WrittenTest(
        test=path, case=case_path, review=review(redacted.case, redacted.counts), is_verified=bool(plan.verified)
    )


def _new_file(redacted: Redacted) -> CaseFile:
    return CaseFile(
        case=redacted.case,
        created_with=f"whyspan {__version__}",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        redacted=redacted.counts,
    )


def _known(path: Path, case_path: Path, question: Case) -> CaseFile | None:
    """Returns the case file that is there already; UsageError when writing would destroy somebody's work."""
    known = read_case_file(case_path) if case_path.exists() else None
    if known and known.case.id != question.id:
        raise UsageError(
            f"{case_path} holds another case (trace {known.case.origin.trace_id[:12] or 'unknown'})",
            hint="give the test another name, or remove that file",
        )
    if path.exists() and _sha256(path.read_text("utf-8")) not in (known.tests.values() if known else ()):
        raise UsageError(
            f"{path} exists and is not as whyspan wrote it",
            hint="give another path, or remove it to have it written anew",
        )
    return known


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What the test file will say."""

    case: Case
    prompt: str
    assertion: str
    """The assertion's text, as `assertions` builds it."""
    call: str
    """The method call that makes it, without `max_rate`."""
    max_rate: float
    fix: Measured | None
    verified: Verified | None

    @property
    def check(self) -> str:
        """The last part of the test's one line."""
        comma = "" if self.call.endswith("(") else ", "
        return f"{self.call}{comma}max_rate={self.max_rate})"


def _plan(redacted: Redacted, fix: Measured | None) -> _Plan:
    case = redacted.case
    prompt = _fixed_prompt(case, fix) if fix else system_prompt(case.api, case.request)
    assertion, call = _assertion(case)
    shown = _shown_rate(fix.claim.changed) if fix else None
    plan = _Plan(
        case=case, prompt=prompt, assertion=assertion, call=call, max_rate=shown or MAX_RATES[0], fix=fix, verified=None
    )
    # Replays of the text with its secrets say nothing certain about the text without them.
    if fix is None or shown is None or redacted.counts:
        return plan
    return replace(plan, verified=_verification(plan, fix))


def _fixed_prompt(case: Case, fix: Measured) -> str:
    """Returns the system prompt that has the fix; UsageError when the fix changes anything else."""
    fixed = fix.candidate.intervention.apply(case)
    prompt = system_prompt(fixed.api, fixed.request)
    if with_system(fixed.api, fixed.request, prompt) != with_system(case.api, case.request, prompt):
        raise UsageError(
            f"the fix {fix.candidate.title!r} is no change of the system prompt, so a test cannot carry it",
            hint="write the test without it (`whyspan test`), and give it your changed tools or model",
        )
    return prompt


def _shown_rate(tally: Tally) -> float | None:
    """Returns the smallest rate whose test passes with these replays; None when there is none."""
    answers = ((rate, RateTest(max_rate=rate).answer(tally.target, tally.draws)) for rate in MAX_RATES)
    return next((rate for rate, answer in answers if answer is Answer.PASS), None)


def _assertion(question: Case) -> tuple[str, str]:
    match question.target:
        case ToolTarget() as target:
            tool = target.spec.removeprefix("tool:")
            return f"never calls {tool}", f"never_calls({_quoted(tool)}"
        case TextTarget(pattern=pattern):
            return f"never matches {pattern}", f"never_matches({_quoted(pattern)}"
        case target:
            return f"never {target.label}", "never_happens("


def _verification(plan: _Plan, fix: Measured) -> Verified:
    asked = with_system(plan.case.api, plan.case.request, plan.prompt) if plan.prompt else plan.case.request
    return Verified(
        assertion=plan.assertion,
        max_rate=plan.max_rate,
        request=digest(asked),
        system=plan.prompt,
        settings=None,
        hits=fix.claim.changed.target,
        draws=fix.claim.changed.draws,
        model=fix.claim.model,
        verified_at=datetime.now(UTC).isoformat(timespec="seconds"),
        verified_with=__version__,
    )


def _render(name: str, plan: _Plan, claims: Sequence[Claim]) -> str:
    words = identifier(f"test_{name}_{plan.case.target.label}")
    about = "\n".join([_sentence(plan.case), "", *_history(plan, claims)])
    prompt, asked = "", f"case({_quoted(name)})"
    if plan.prompt:
        prompt = f"{PROMPT_COMMENT}\nSYSTEM = {_literal(plan.prompt)}\n\n\n"
        asked += ".with_system(SYSTEM)"
    return (
        f'"""{_for_docstring(about)}\n"""\n\n'
        f"import pytest\nfrom whyspan import case\n\n{prompt or chr(10)}"
        f"@pytest.mark.whyspan\ndef {words}() -> None:\n    {asked}.{plan.check}\n"
    )


def _for_docstring(text: str) -> str:
    """Returns a text that can neither end a docstring nor form an escape in it."""
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _sentence(question: Case) -> str:
    origin = question.origin
    day = f" of {datetime.fromtimestamp(origin.start_ns / 1e9, UTC):%Y-%m-%d}" if origin.start_ns else ""
    trace = f"\n\nTrace {origin.trace_id}, span {origin.span_id}." if origin.trace_id else ""
    return f"A recorded decision{day} that must not come again.{trace}"


def _history(plan: _Plan, claims: Sequence[Claim]) -> list[str]:
    cause = next((c for c in claims if c.kind == "cause"), None)
    lines = [f"Written by whyspan {__version__}; model {plan.case.request.get('model', 'unknown')}."]
    if cause:
        lines.append(
            f"Cause found: {_counts(cause.base)} as recorded, {_counts(cause.changed)} without the piece"
            f" (e-value {cause.e_value:.3g})."
        )
    if plan.fix:
        low, high = plan.fix.residual
        rate = f"95 % interval of what is left: {low:.2f} to {high:.2f}"
        lines.append(f"With the {plan.fix.candidate.title}: {_counts(plan.fix.claim.changed)} ({rate}).")
        if not plan.verified:
            lines.append("Not verified in this form yet: run pytest --whyspan-mode refresh once.")
    else:
        lines.append("No fix is in the prompt yet, so the test fails.")
    return lines


def _counts(tally: Tally) -> str:
    return f"{tally.target} of {tally.draws} replays"


def _literal(text: str) -> str:
    """Returns a Python literal that shows a prompt line by line, whatever it holds."""
    if "\n" not in text and len(text) < 80:
        return _quoted(text)
    lines = text.splitlines(keepends=True)
    return "(\n" + "".join(f"    {_quoted(part)}\n" for line in lines for part in _wrap(line)) + ")"


def _quoted(text: str) -> str:
    """Returns a Python string literal, in double quotes where that needs no escape."""
    literal = repr(text)
    return f'"{literal[1:-1]}"' if '"' not in text and literal.startswith("'") else literal


def _wrap(line: str, width: int = 100) -> list[str]:
    """Cuts a long line at spaces; joined, the parts are the line again."""
    parts: list[str] = []
    for word in re.findall(r"\S+\s*|\s+", line):
        if parts and len(parts[-1]) + len(word) <= width:
            parts[-1] += word
        else:
            parts.append(word)
    return parts


def identifier(text: str) -> str:
    """Returns a text as a lower-case name for files and functions; never empty."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "decision"
