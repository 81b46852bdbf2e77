"""The question that a hop asks: whether an earlier call, sampled again, still writes the words or makes the call.

Models seldom say a thing twice in the same words, so what counts is what the later decision took over: the values of
its arguments that the words name. Values that the user or a prompt had named do not count, for every reply may have
them. Where no value is left the words themselves count. How a reply is judged is part of the result.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....ingest.calls import ModelCall, ModelReply
from ...fields import text_fields
from ...segments import fold
from ...targets import Condition, Target, TextTarget, ToolTarget
from ..problem import Role
from .sources import Source, Way, argument_values

_LEAST_VALUE = 3
"""Characters; shorter values are in too many texts."""
_LITERALS = ("true", "false", "null")
_STEP = re.compile(r"[\w$-]+")
_GIVEN = (Role.USER, Role.SYSTEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The outcome that is asked about, and how it is told, in words; both may quote the trace."""

    target: Target
    judged: str


def clues_of(reply: ModelReply, calls: Sequence[ModelCall]) -> tuple[str, ...]:
    """Returns the argument values of a decision that somebody in its run brought up; `calls` are in start order."""
    values = dict.fromkeys(fold(text) for tool in reply.tool_calls for _, text in argument_values(tool))
    return tuple(v for v in values if len(v) >= _LEAST_VALUE and v not in _LITERALS and not _is_given(v, calls))


def _is_given(value: str, calls: Sequence[ModelCall]) -> bool:
    """Whether a user or a prompt named a value before any model did."""
    for call in calls:
        if any(value in fold(f.text) for f in text_fields(call.api, call.request) if f.role in _GIVEN):
            return True
        if any(value in fold(text) for text in _said(call)):
            return False
    return False


def _said(call: ModelCall) -> Iterable[str]:
    for reply in call.replies:
        yield reply.text
        yield from (text for tool in reply.tool_calls for _, text in argument_values(tool))


def question_about(source: Source, clues: Sequence[str]) -> Question:
    """Returns the question to put to the call that a piece came from."""
    if source.way is Way.RESULT:
        return _same_call(source)
    names = [c for c in clues if c.casefold() in source.statement.casefold()]
    pattern = _pattern(names) if names else f"(?i){_words(source.statement)}"
    what = f"names {_listed(names)}" if names else "says so word for word"
    if source.tool is None:
        return Question(target=TextTarget(pattern), judged=f"its text {what}")
    if not source.path:
        return Question(target=ToolTarget(source.tool.name), judged=f"it calls {source.tool.name}")
    path = _path(source.path)
    if " " in source.statement:
        condition = Condition(path, "~", pattern)
    else:
        condition, what = Condition(path, "=", source.statement), f"is {source.statement!r}"
    target = ToolTarget(source.tool.name, (condition,))
    return Question(target=target, judged=f"it calls {source.tool.name} and {path} {what}")


def _same_call(source: Source) -> Question:
    """The same tool, with the arguments that the model had read somewhere; its own wording may vary."""
    assert source.tool is not None  # a result belongs to a call
    read = [fold(f.text) for f in text_fields(source.call.api, source.call.request)]
    taken = [
        Condition(_path(path), "=", text)
        for path, text in argument_values(source.tool)
        if path and len(text) >= _LEAST_VALUE and any(fold(text) in r for r in read)
    ]
    like = "".join(f" with {c.path} = {c.value!r}" for c in taken)
    return Question(target=ToolTarget(source.tool.name, tuple(taken)), judged=f"it calls {source.tool.name}{like}")


def _pattern(names: Sequence[str]) -> str:
    """A regular expression for a text that has all of these, in any order."""
    if len(names) == 1:
        return f"(?i){_words(names[0])}"
    return "(?is)^" + "".join(f"(?=.*{_words(name)})" for name in names)


def _words(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in text.split())


def _path(steps: Sequence[str]) -> str:
    """The path of a condition; a key that the grammar cannot write is any key."""
    return ".".join(step if _STEP.fullmatch(step) else "*" for step in steps)


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
