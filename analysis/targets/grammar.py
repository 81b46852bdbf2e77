"""Reads targets from text; what is wrong is pointed at, character by character. docs/targets.md has the grammar."""

import json
import re
from collections.abc import Callable
from typing import NoReturn

from ...ingest.errors import UsageError
from ..canonical import canonical_json
from .outcomes import (
    Condition,
    ErrorTarget,
    FinishTarget,
    JudgeTarget,
    NoToolTarget,
    PythonTarget,
    SameCallsTarget,
    Target,
    TextTarget,
    ToolTarget,
)

GRAMMAR = (
    "tool:NAME, tool:NAME[path~'regex'], text:/REGEX/, no-tool, finish:REASON, error, last, #N, span:ID, "
    'py:MODULE:FUNCTION, judge:"QUESTION"'
)
_OPERATOR = re.compile(r"<=|>=|!=|[=~<>]")
_PATH = re.compile(r"[\w$-]+(?:\.(?:[\w$-]+|\*))*|\*(?:\.(?:[\w$-]+|\*))*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BARE = re.compile(r"[^,'\]\s]+")
_SPACE = re.compile(r"\s*")


def parse_target(spec: str) -> Target:
    """Reads a target; UsageError shows the character that is wrong."""
    if spec == "no-tool":
        return NoToolTarget()
    if spec == "error":
        return ErrorTarget()
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in _KINDS:
        raise UsageError(f"{spec!r} is not an event", hint=f"events: {GRAMMAR}")
    return _KINDS[kind](_Cursor(spec, len(kind) + 1), rest)


class _Cursor:
    """A place in a text that is being read."""

    def __init__(self, spec: str, at: int) -> None:
        self.spec = spec
        self.at = at

    def take(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """Reads a pattern after white space."""
        self.skip()
        found = pattern.match(self.spec, self.at)
        if found is None:
            self.fail(f"expected {expected}")
        self.at = found.end()
        return found

    def skip(self) -> None:
        """Goes over white space."""
        found = _SPACE.match(self.spec, self.at)
        assert found is not None  # the pattern matches the empty string
        self.at = found.end()

    def next_is(self, char: str) -> bool:
        """Whether a character is next, white space aside; goes over it if so."""
        self.skip()
        if self.spec[self.at : self.at + 1] != char:
            return False
        self.at += 1
        return True

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        """Raises UsageError that points at a character, the next one unless told."""
        place = self.at if at is None else at
        raise UsageError(
            f"the event is wrong at character {place + 1}: {problem}\n  {self.spec}\n  {' ' * place}^",
            hint=f"events: {GRAMMAR}",
        )


def _tool(cursor: _Cursor, rest: str) -> Target:
    name = cursor.take(re.compile(r"[^\[\]\s]+"), "the name of a tool")[0]
    conditions: list[Condition] = []
    if cursor.next_is("["):
        conditions.append(_condition(cursor))
        while cursor.next_is(","):
            conditions.append(_condition(cursor))
        if not cursor.next_is("]"):
            cursor.fail("expected , or ]")
    cursor.skip()
    if cursor.at < len(cursor.spec):
        cursor.fail("expected [ or the end")
    return ToolTarget(name, tuple(conditions))


def _condition(cursor: _Cursor) -> Condition:
    path = cursor.take(_PATH, "a path into the arguments, such as to or items.0.sku")[0]
    op = cursor.take(_OPERATOR, "one of = != ~ < > <= >=")[0]
    cursor.skip()
    start = cursor.at
    if cursor.spec[start : start + 1] == "'":
        value = re.sub(r"\\(['\\])", r"\1", cursor.take(_QUOTED, "a text that ends with '")[1])
    else:
        value = cursor.take(_BARE, "a value: a word, a number or 'text'")[0]
    if op == "~":
        _check_regex(cursor, value, start + (cursor.spec[start] == "'"))
    return Condition(path, op, value)


def _text(cursor: _Cursor, rest: str) -> Target:
    if not rest.startswith("/"):
        cursor.fail("expected / and a regular expression")
    if len(rest) < 2 or not rest.endswith("/"):
        cursor.fail("expected / after the regular expression", len(cursor.spec))
    _check_regex(cursor, rest[1:-1], cursor.at + 1)
    return TextTarget(rest[1:-1])


def _check_regex(cursor: _Cursor, pattern: str, start: int) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        cursor.fail(f"in the regular expression: {error.msg}", start + (error.pos or 0))


def _finish(cursor: _Cursor, rest: str) -> Target:
    if not re.fullmatch(r"\S+", rest):
        cursor.fail("expected a reason, such as length")
    return FinishTarget(rest)


def _python(cursor: _Cursor, rest: str) -> Target:
    module = cursor.take(re.compile(r"[A-Za-z_][\w.]*"), "the name of a module")[0]
    if not cursor.next_is(":"):
        cursor.fail("expected : and the name of a function")
    function = cursor.take(re.compile(r"[A-Za-z_]\w*$"), "the name of a function")[0]
    return PythonTarget(module, function)


def _judge(cursor: _Cursor, rest: str) -> Target:
    try:
        question = json.loads(rest) if rest.startswith('"') else rest
    except ValueError:
        cursor.fail('expected " after the question', len(cursor.spec))
    if not isinstance(question, str) or not question.strip():
        cursor.fail("expected a question")
    return JudgeTarget(question)


def _same_calls(cursor: _Cursor, rest: str) -> Target:
    try:
        return SameCallsTarget(tuple(sorted((str(n), canonical_json(a)) for n, a in json.loads(rest))))
    except json.JSONDecodeError as error:
        cursor.fail(f"in the list of calls: {error.msg}", cursor.at + error.pos)
    except (ValueError, TypeError):
        cursor.fail('expected a list of calls, such as [["NAME", {}]]')


_KINDS: dict[str, Callable[[_Cursor, str], Target]] = {
    "tool": _tool,
    "text": _text,
    "finish": _finish,
    "py": _python,
    "judge": _judge,
    "calls": _same_calls,
}
