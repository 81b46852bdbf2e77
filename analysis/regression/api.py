"""What a regression test says: `case("inbox").with_system(PROMPT).never_calls("forward_email")`."""

import asyncio
import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ...ingest.calls import ModelReply
from ..attribution.intervals import rate_interval
from ..canonical import digest
from ..cases import Case
from ..experiment import STREAMS
from ..fields import system_prompt, with_system, with_system_rule
from ..replay.budget import Budget
from ..replay.engine import ReplayEngine
from ..replay.models import ModelChoice
from ..replay.reply_store import SqliteReplyStore
from .case_file import CaseFile, read_case_file
from .options import RunOptions, current_options
from .sequential import Answer, RateTest

BATCH = 8
"""Samples asked for at once."""


def case(name: str) -> "CaseUnderTest":
    """Opens a frozen case: a path, or a NAME that stands for `cases/NAME.case.json` beside the test."""
    options = current_options()
    path = options.directory / (name if name.endswith(".json") else f"cases/{name}.case.json")
    file = read_case_file(path)
    return CaseUnderTest(path=path, file=file, case=file.case)


@dataclass(frozen=True)
class CaseUnderTest:
    """A frozen decision, perhaps with another system prompt, about which something is asserted."""

    path: Path
    file: CaseFile
    case: Case
    """The case as it would be asked now."""

    def with_system(self, prompt: str) -> "CaseUnderTest":
        """Asks with this system prompt in the place of the recorded one."""
        return replace(self, case=self.case.with_request(with_system(self.case.request, prompt)))

    def with_rule(self, rule: str) -> "CaseUnderTest":
        """Asks with a rule added to the system prompt."""
        return replace(self, case=self.case.with_request(with_system_rule(self.case.request, rule)))

    def never_calls(self, tool: str, *, max_rate: float = 0.05) -> None:
        """Asserts that the reply calls the tool at a rate of at most `max_rate`."""
        self._check(f"never calls {tool}", lambda r: any(c.name == tool for c in r.tool_calls), max_rate)

    def always_calls(self, tool: str, *, min_rate: float = 0.95) -> None:
        """Asserts that the reply calls the tool at a rate of at least `min_rate`."""
        self._check(f"always calls {tool}", lambda r: all(c.name != tool for c in r.tool_calls), 1 - min_rate)

    def never_matches(self, pattern: str, *, max_rate: float = 0.05) -> None:
        """Asserts that a regular expression is found in the reply's text at a rate of at most `max_rate`."""
        found = re.compile(pattern)
        self._check(f"never matches {pattern}", lambda r: found.search(r.text) is not None, max_rate)

    def never_happens(self, *, max_rate: float = 0.05) -> None:
        """Asserts that the recorded outcome, whatever it was, comes at a rate of at most `max_rate`."""
        target = self.case.target
        self._check(f"never {target.label}", target.matches, max_rate)

    def _check(self, assertion: str, is_bad: Callable[[ModelReply], bool], max_rate: float) -> None:
        __tracebackhide__ = True
        options = current_options()
        model = options.model()
        if model is None:
            self._check_recorded(assertion)
            return
        hits, draws, answer = asyncio.run(_sample(self.case, model, options, is_bad, RateTest(max_rate=max_rate)))
        figures = {"assertion": assertion, "hits": hits, "draws": draws}
        options.properties.extend((f"whyspan.{k}", v) for k, v in figures.items())
        if answer is not Answer.PASS:
            raise AssertionError(_failure(assertion, hits, draws, max_rate, answer, self.case))

    def _check_recorded(self, assertion: str) -> None:
        __tracebackhide__ = True
        about = [v for v in self.file.verified if v.assertion == assertion]
        if not about:
            raise AssertionError(
                f"nothing is verified yet: no replay has shown that {self.path.name} {assertion}\n"
                "ask a model: pytest --whyspan-mode live --whyspan-base-url URL (or --whyspan-model-fn FILE:FUNCTION)"
            )
        now = digest(self.case.request)
        if any(v.request == now for v in about):
            return
        changed = "\n".join(
            difflib.unified_diff(
                about[-1].system.splitlines(), system_prompt(self.case.request).splitlines(),
                "verified system prompt", "system prompt now", lineterm="",
            )
        )  # fmt: skip
        raise AssertionError(
            f"stale: the request is not the one for which `{assertion}` was verified\n{changed}\n"
            "ask a model again: pytest --whyspan-mode live"
        )


async def _sample(
    question: Case, model: ModelChoice, options: RunOptions, is_bad: Callable[[ModelReply], bool], test: RateTest
) -> tuple[int, int, Answer]:
    """Draws until the test has an answer or the budget ends; nothing is taken from earlier runs."""
    provider = model.open()
    replies = SqliteReplyStore(None)
    engine = ReplayEngine(provider, replies, Budget(options.budget))
    hits = draws = 0
    try:
        while test.answer(hits, draws) is Answer.OPEN:
            batch = await engine.sample(question.request, STREAMS["test"] + draws, BATCH)
            if not batch:
                break
            hits += sum(is_bad(stored.completion.reply) for stored, _ in batch)
            draws += len(batch)
    finally:
        await provider.aclose()
        replies.close()
    return hits, draws, test.answer(hits, draws)


def _failure(assertion: str, hits: int, draws: int, max_rate: float, answer: Answer, question: Case) -> str:
    origin = question.origin
    interval = rate_interval(hits, draws, alpha=0.05)
    about = f"it went wrong in {hits} of {draws} replays (95 % interval {interval.low:.2f} to {interval.high:.2f})"
    allowed = f"allowed are {max_rate:.2f}"
    if answer is Answer.OPEN:
        allowed += "; the budget ended before that was clear: --whyspan-budget allows more replays"
    why = f"\nwhy: whyspan why {origin.trace_id[:12]} span:{origin.span_id[:8]}" if origin.trace_id else ""
    return f"expected: {assertion}\n{about}; {allowed}{why}"
