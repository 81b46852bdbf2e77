"""What a regression test says: `case("inbox").with_system(PROMPT).never_calls("forward_email")`."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...ingest.calls import Api, Body
from ...ingest.errors import FormatError, WhyspanError
from ..canonical import digest
from ..fields import with_system, with_system_rule
from . import assertions
from .assertions import Assertion
from .case_file import SUFFIX, CaseFile, read_case_file, update_case_file
from .check import Check, Question, Status, check_live, check_recorded, verification
from .options import Inconclusive, Mode, current_options


class InconclusiveWarning(UserWarning):
    """A regression test passed although its budget ended before the rate was clear."""


def case(name: str | os.PathLike[str]) -> "CaseUnderTest":
    """Opens a frozen case: a path, or a NAME that stands for `cases/NAME.case.json` beside the test."""
    options = current_options()
    text = os.fspath(name)
    path = options.directory / (text if text.endswith(".json") else f"cases/{text}{SUFFIX}")
    try:
        file = read_case_file(path)
    except WhyspanError as error:
        if error.hint:
            error.add_note(f"hint: {error.hint}")
        raise
    question = Question(case=file.case, path=path)
    found = CaseUnderTest(file=file, question=question)
    return found.with_model(options.model_name) if options.model_name else found


@dataclass(frozen=True)
class CaseUnderTest:
    """A frozen decision, perhaps with another prompt, tools or model, about which something is asserted."""

    file: CaseFile
    question: Question

    def with_system(self, prompt: str | os.PathLike[str]) -> "CaseUnderTest":
        """Asks with this system prompt in the place of the recorded one.

        A path reads the prompt from a file, so that reports can point at it.
        """
        if isinstance(prompt, str):
            return self._with(with_system(self._api, self._request, prompt))
        path = Path(prompt)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FormatError(f"the prompt {path} cannot be read: {error}") from error
        return self._with(with_system(self._api, self._request, text), prompt_path=path)

    def with_rule(self, rule: str) -> "CaseUnderTest":
        """Asks with a rule added to the system prompt."""
        return self._with(with_system_rule(self._api, self._request, rule))

    def with_tools(self, tools: Sequence[Body]) -> "CaseUnderTest":
        """Asks with these tool definitions, in the provider's own form, in the place of the recorded ones."""
        return self._with({**self._request, "tools": list(tools)})

    def with_model(self, model: str) -> "CaseUnderTest":
        """Asks another model."""
        return self._with({**self._request, "model": model})

    def never_calls(self, tool: str, *, max_rate: float = 0.05) -> None:
        """Asserts that the reply calls the tool at a rate of at most `max_rate`.

        `tool` is a name, perhaps with conditions on the arguments: `forward_email[to~'@evil']`.
        """
        __tracebackhide__ = True
        self._check(assertions.never_calls(tool, max_rate))

    def always_calls(self, tool: str, *, min_rate: float = 0.95) -> None:
        """Asserts that the reply calls the tool, perhaps with conditions, at a rate of at least `min_rate`."""
        __tracebackhide__ = True
        self._check(assertions.always_calls(tool, min_rate))

    def calls_matching(self, tool: str, *, min_rate: float = 0.95) -> None:
        """Asserts that where the reply calls the tool, its arguments meet the conditions: `pay[amount<100]`."""
        __tracebackhide__ = True
        self._check(assertions.calls_matching(tool, min_rate))

    def never_matches(self, pattern: str, *, max_rate: float = 0.05) -> None:
        """Asserts that a regular expression is found in the reply's text at a rate of at most `max_rate`."""
        __tracebackhide__ = True
        self._check(assertions.never_matches(pattern, max_rate))

    def never_happens(self, *, max_rate: float = 0.05) -> None:
        """Asserts that the recorded outcome, whatever it was, comes at a rate of at most `max_rate`."""
        __tracebackhide__ = True
        self._check(assertions.never_happens(self.question.case.target, max_rate))

    @property
    def _api(self) -> Api:
        return self.question.case.api

    @property
    def _request(self) -> Body:
        return self.question.case.request

    def _with(self, request: Body, prompt_path: Path | None = None) -> "CaseUnderTest":
        asked = self.question.case.with_request(request)
        prompt = prompt_path or self.question.prompt_path
        return replace(self, question=replace(self.question, case=asked, prompt_path=prompt))

    def _check(self, assertion: Assertion) -> None:
        __tracebackhide__ = True
        options = current_options()
        model = options.model()
        if model is None:
            check = check_recorded(self.question, assertion, self.file)
        else:
            check = check_live(self.question, assertion, model, options)
        options.checks.append(check)
        if options.mode is Mode.REFRESH:
            self._keep(check)
        if check.status is Status.INCONCLUSIVE:
            _settle(check, options.inconclusive)
        elif check.status is not Status.PASSED:
            raise AssertionError(check.message)

    def _keep(self, check: Check) -> None:
        """Writes a passed check into the case file, and takes out one that is refuted."""
        request = digest(self._request)
        if check.status is Status.PASSED:
            update_case_file(self.question.path, lambda f: f.with_verified(verification(self.question, check, f)))
        elif check.status is Status.FAILED:
            update_case_file(self.question.path, lambda f: f.without_verified(check.assertion, request))


def _settle(check: Check, policy: Inconclusive) -> None:
    __tracebackhide__ = True
    match policy:
        case Inconclusive.FAIL:
            raise AssertionError(check.message)
        case Inconclusive.SKIP:
            import pytest

            pytest.skip(check.message)
        case Inconclusive.WARN:
            warnings.warn(check.message, InconclusiveWarning, stacklevel=4)
