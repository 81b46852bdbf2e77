"""Checks an assertion about a frozen request: by asking a model, or by looking up what was verified before."""

import asyncio
import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from ... import __version__
from ...ingest.calls import Body, Json
from ..canonical import digest
from ..cases import Case
from ..experiment import STREAMS
from ..fields import system_prompt
from ..replay.budget import Budget
from ..replay.engine import ReplayEngine
from ..replay.models import ModelChoice
from ..replay.reply_store import SqliteReplyStore
from ..statistics.intervals import rate_interval
from ..statistics.logarithms import from_log
from ..statistics.sequential import Answer, RateTest
from .assertions import Assertion
from .case_file import CaseFile, Verified, settings_of
from .options import RunOptions

BATCH = 8
"""Samples asked for at once."""
CONFIDENCE = 0.95


class Status(StrEnum):
    """What a check came to."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    """The budget ended before the rate was clear."""
    STALE = "stale"
    """The request is not the one that was verified."""
    UNVERIFIED = "unverified"
    """Nothing was ever verified."""


_ANSWERS = {Answer.PASS: Status.PASSED, Answer.FAIL: Status.FAILED, Answer.OPEN: Status.INCONCLUSIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One assertion, checked."""

    status: Status
    message: str
    """What to tell somebody whose test does not pass; empty when it does."""
    assertion: str
    max_rate: float
    mode: str
    """`live` or `recorded`."""
    case: Case
    case_path: Path
    prompt_path: Path | None
    """The file that the system prompt came from, where that is known."""
    model: str
    """The model asked, or the one that was asked when this was verified; empty when it never was."""
    hits: int = 0
    draws: int = 0
    """Replays that the verdict stands on; of a recorded check, those of the verification."""
    e_excess: float = 0.0
    """Evidence against "the rate is allowed"; 1/alpha fails the test. 0 when nothing was drawn."""
    e_compliance: float = 0.0
    """Evidence against "the rate is bad"; 1/beta passes it."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None when the provider's prices are unknown."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the violations' rate, valid although sampling stopped early."""
        if not self.draws:
            return None
        found = rate_interval(self.hits, self.draws, alpha=1 - CONFIDENCE)
        return found.low, found.high

    def to_json(self) -> dict[str, Json]:
        """Returns the form used in reports."""
        origin = self.case.origin
        return {
            "status": self.status.value,
            "message": self.message,
            "assertion": self.assertion,
            "max_rate": self.max_rate,
            "mode": self.mode,
            "case": self.case_path.name,
            "case_path": str(self.case_path),
            "case_id": self.case.id,
            "target": self.case.target.spec,
            "trace_id": origin.trace_id,
            "span_id": origin.span_id,
            "prompt_path": str(self.prompt_path) if self.prompt_path else None,
            "model": self.model,
            "hits": self.hits,
            "draws": self.draws,
            "rate": self.hits / self.draws if self.draws else None,
            "interval": list(self.interval) if self.interval else None,
            "e_excess": self.e_excess,
            "e_compliance": self.e_compliance,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A frozen request as it would be sent now, and where it comes from."""

    case: Case
    path: Path
    prompt_path: Path | None = None

    @property
    def name(self) -> str:
        """The case's name, for people."""
        return self.path.name.removesuffix(".case.json")


def check_live(question: Question, assertion: Assertion, model: ModelChoice, options: RunOptions) -> Check:
    """Asks the model until the rate is clear or the budget ends. Nothing is taken from earlier runs."""
    test = RateTest(max_rate=assertion.max_rate)
    check = asyncio.run(_sample(question, assertion, model, test, options))
    return replace(check, message=_explain_live(check, options)) if check.status is not Status.PASSED else check


async def _sample(
    question: Question, assertion: Assertion, model: ModelChoice, test: RateTest, options: RunOptions
) -> Check:
    provider, replies = model.open(question.case), SqliteReplyStore(None)
    engine = ReplayEngine(provider, replies, Budget(options.budget))
    violations: list[bool] = []
    usages, names = [], []
    try:
        while test.answer(sum(violations), len(violations)) is Answer.OPEN:
            options.progress(_progress(question, assertion, sum(violations), len(violations), test))
            batch = await engine.sample(question.case.request, STREAMS["test"] + len(violations), BATCH)
            if not batch:
                break
            violations += [assertion.is_violation(stored.completion.reply) for stored, _ in batch]
            usages += [stored.completion.usage for stored, _ in batch]
            names += [stored.completion.reply.model for stored, _ in batch]
    finally:
        await provider.aclose()
        replies.close()
    hits, draws = sum(violations), len(violations)
    costs = [u.cost_usd for u in usages if u.cost_usd is not None]
    return Check(
        status=_ANSWERS[test.answer(hits, draws)], message="", assertion=assertion.text, max_rate=assertion.max_rate,
        mode="live", case=question.case, case_path=question.path, prompt_path=question.prompt_path,
        model=next((n for n in names if n), str(question.case.request.get("model", ""))),
        hits=hits, draws=draws,
        e_excess=from_log(test.log_evidence_of_excess(hits, draws)),
        e_compliance=from_log(test.log_evidence_of_compliance(hits, draws)),
        input_tokens=sum(u.input_tokens or 0 for u in usages),
        output_tokens=sum(u.output_tokens or 0 for u in usages),
        cost_usd=sum(costs) if costs else None,
    )  # fmt: skip


def _progress(question: Question, assertion: Assertion, hits: int, draws: int, test: RateTest) -> str:
    expected = draws + test.draws_to_pass(hits, draws)
    return f"{question.name} {assertion.text}: {draws} of about {expected} replays, {hits} against it"


def _explain_live(check: Check, options: RunOptions) -> str:
    low, high = check.interval or (0.0, 1.0)
    lines = [
        f"expected: {check.assertion}",
        f"{check.hits} of {check.draws} replays went against it (95 % interval {low:.2f} to {high:.2f}); "
        f"allowed are {check.max_rate:.2f}",
    ]
    if check.status is Status.INCONCLUSIVE:
        lines.append(
            f"inconclusive: {options.budget} replays did not make it clear; --whyspan-budget allows more, "
            "--whyspan-inconclusive says what becomes of such a test"
        )
    origin = check.case.origin
    if origin.trace_id and check.status is Status.FAILED:
        lines.append(f"why: whyspan why {origin.trace_id[:12]} span:{origin.span_id[:8]}")
    return "\n".join(lines)


def check_recorded(question: Question, assertion: Assertion, file: CaseFile) -> Check:
    """Passes when the request is one for which the assertion was verified; asks nobody."""
    about = [v for v in file.verified if v.assertion == assertion.text and v.max_rate <= assertion.max_rate]
    now = digest(question.case.request)
    found = next((v for v in reversed(about) if v.request == now), None)
    latest = found or (about[-1] if about else None)
    status = Status.PASSED if found else Status.STALE if about else Status.UNVERIFIED
    message = ""
    if status is Status.STALE:
        message = _stale(question, assertion, about[-1], file)
    elif status is Status.UNVERIFIED:
        message = _unverified(question, assertion, file)
    return Check(
        status=status,
        message=message,
        assertion=assertion.text, max_rate=assertion.max_rate, mode="recorded", case=question.case,
        case_path=question.path, prompt_path=question.prompt_path,
        model=latest.model if latest else "", hits=latest.hits if latest else 0, draws=latest.draws if latest else 0,
    )  # fmt: skip


_ASK = "ask a model: pytest --whyspan-mode refresh --whyspan-base-url URL (or --whyspan-model-fn FILE:FUNCTION)"


def _unverified(question: Question, assertion: Assertion, file: CaseFile) -> str:
    weaker = [v.max_rate for v in file.verified if v.assertion == assertion.text]
    shown = f" at a rate of {assertion.max_rate:g}; it was shown for {min(weaker):g}" if weaker else ""
    return f"nothing is verified yet: no replay has shown that {question.name} {assertion.text}{shown}\n{_ASK}"


def _stale(question: Question, assertion: Assertion, last: Verified, file: CaseFile) -> str:
    before = [*_describe(last.system, file.case.request if last.settings is None else last.settings)]
    after = [*_describe(system_prompt(question.case.api, question.case.request), question.case.request)]
    changes = difflib.unified_diff(before, after, "verified request", "request now", lineterm="", n=2)
    shown = "\n".join(changes) or "(the frozen conversation was edited)"
    return f"stale: the request is not the one for which `{assertion.text}` was verified\n{shown}\n{_ASK}"


def _describe(system: str, request: Body) -> Iterator[str]:
    """Yields what a test can change about a request, line by line: the system prompt, then the settings."""
    yield from system.splitlines()
    for key, value in sorted(settings_of(request).items()):
        yield from f"{key}: {json.dumps(value, indent=1, ensure_ascii=False)}".splitlines()


def verification(question: Question, check: Check, file: CaseFile) -> Verified:
    """Returns the record of a check that passed."""
    request = question.case.request
    settings = settings_of(request)
    return Verified(
        assertion=check.assertion,
        max_rate=check.max_rate,
        request=digest(request),
        system=system_prompt(question.case.api, request),
        settings=None if settings == settings_of(file.case.request) else settings,
        hits=check.hits,
        draws=check.draws,
        model=check.model,
        verified_at=datetime.now(UTC).isoformat(timespec="seconds"),
        verified_with=__version__,
    )
