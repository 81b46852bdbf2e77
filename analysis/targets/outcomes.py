"""The outcomes that can be asked about. Each is a predicate on a reply, and a text that reads back as the same one."""

import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ...ingest.calls import ModelReply
from ...ingest.errors import UsageError
from ..canonical import canonical_arguments


class Target(Protocol):
    """An outcome that a reply has or has not."""

    @property
    def spec(self) -> str:
        """The text that `parse_target` reads back."""
        ...

    @property
    def label(self) -> str:
        """The outcome in a few words, without argument values (those may be confidential)."""
        ...

    def matches(self, reply: ModelReply) -> bool:
        """Whether the reply is the outcome asked about."""
        ...


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison on a tool call's arguments."""

    path: str
    """Dotted path into the arguments; numbers index lists, `*` stands for any item or member."""
    op: str
    value: str

    def holds(self, arguments: Any) -> bool:
        """Compares; a path that is absent never holds, whatever the operator."""
        return any(self._compare(found) for found in _at(arguments, self.path.split(".")))

    def _compare(self, found: Any) -> bool:
        text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        if self.op == "~":
            return re.search(self.value, text) is not None
        left, right = _number(text), _number(self.value)
        if self.op in {"=", "!="}:
            is_equal = text == self.value or (left is not None and left == right)
            return is_equal == (self.op == "=")
        if left is None or right is None:
            return False
        return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[self.op]


def _at(value: Any, steps: list[str]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step == "*" and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _at(inner, rest)
    elif isinstance(value, dict) and step in value:
        yield from _at(value[step], rest)
    elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        yield from _at(value[int(step)], rest)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ToolTarget:
    """The reply calls a tool, perhaps with certain arguments."""

    name: str
    conditions: tuple[Condition, ...] = ()

    @property
    def spec(self) -> str:
        """`tool:NAME[…]`."""
        inside = ", ".join(f"{c.path}{c.op}{_quote(c.value)}" for c in self.conditions)
        return f"tool:{self.name}" + (f"[{inside}]" if inside else "")

    @property
    def label(self) -> str:
        """What happens, for people."""
        return f"calls {self.name}" + (" with such arguments" if self.conditions else "")

    def matches(self, reply: ModelReply) -> bool:
        """True when any of the calls qualifies."""
        return any(
            c.name == self.name and all(x.holds(_arguments(c.arguments)) for x in self.conditions)
            for c in reply.tool_calls
        )


@dataclass(frozen=True, slots=True)
class TextTarget:
    """The reply's text matches a regular expression."""

    pattern: str

    @property
    def spec(self) -> str:
        """`text:/REGEX/`."""
        return f"text:/{self.pattern}/"

    @property
    def label(self) -> str:
        """What happens, for people."""
        return "says such a text"

    def matches(self, reply: ModelReply) -> bool:
        """Searches anywhere in the text."""
        return re.search(self.pattern, reply.text) is not None


@dataclass(frozen=True, slots=True)
class NoToolTarget:
    """The reply answers without calling a tool."""

    spec: str = "no-tool"
    label: str = "answers without a tool"

    def matches(self, reply: ModelReply) -> bool:
        """True when nothing is called."""
        return not reply.tool_calls and not reply.error


@dataclass(frozen=True, slots=True)
class ErrorTarget:
    """The call fails: the model's endpoint refuses the request, whatever the reason."""

    spec: str = "error"
    label: str = "fails"

    def matches(self, reply: ModelReply) -> bool:
        """True when there is an error in the place of an answer."""
        return bool(reply.error)


SAME_FINISH = (
    frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens"}),
    frozenset({"stop", "end_turn", "STOP", "stop_sequence", "completed"}),
    frozenset({"tool_calls", "tool_use", "function_call"}),
    frozenset({"content_filter", "refusal", "SAFETY", "content_filtered", "guardrail_intervened"}),
)
"""The words that the APIs have for the same reason."""


@dataclass(frozen=True, slots=True)
class FinishTarget:
    """The reply ended for a given reason."""

    reason: str

    @property
    def spec(self) -> str:
        """`finish:REASON`."""
        return f"finish:{self.reason}"

    @property
    def label(self) -> str:
        """What happens, for people."""
        return f"ends with {self.reason}"

    def matches(self, reply: ModelReply) -> bool:
        """Compares with the provider's word, or another provider's word for the same."""
        words = next((s for s in SAME_FINISH if self.reason in s), frozenset({self.reason}))
        return reply.finish_reason in words


@dataclass(frozen=True, slots=True)
class SameCallsTarget:
    """The reply makes exactly these calls, in any order, formatting of the arguments aside."""

    calls: tuple[tuple[str, str], ...]
    """(name, canonical JSON of the arguments), sorted."""

    @classmethod
    def of(cls, reply: ModelReply) -> "SameCallsTarget":
        """The target that this reply has."""
        return cls(_call_set(reply))

    @property
    def spec(self) -> str:
        """`calls:[["NAME", {…}], …]`."""
        return "calls:" + json.dumps([[n, json.loads(a)] for n, a in self.calls], ensure_ascii=False)

    @property
    def label(self) -> str:
        """What happens, for people."""
        return "calls " + " and ".join(n for n, _ in self.calls) + " with the same arguments"

    def matches(self, reply: ModelReply) -> bool:
        """Compares the multisets of calls."""
        return _call_set(reply) == self.calls


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A Python function says whether a reply (a `ModelReply`) is the outcome."""

    module: str
    function: str

    @property
    def spec(self) -> str:
        """`py:MODULE:FUNCTION`."""
        return f"py:{self.module}:{self.function}"

    @property
    def label(self) -> str:
        """What happens, for people."""
        return f"is what {self.function} finds"

    def matches(self, reply: ModelReply) -> bool:
        """Calls the function; UsageError when there is none or it fails."""
        predicate = _load(self.module, self.function)
        try:
            return bool(predicate(reply))
        except Exception as error:
            raise UsageError(f"{self.spec} raised {type(error).__name__}: {error}") from error


@lru_cache(maxsize=64)
def _load(module: str, function: str) -> Callable[[ModelReply], Any]:
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"py:{module}:{function} cannot be loaded: {error}", hint="is it on PYTHONPATH?") from error
    if not callable(found):
        raise UsageError(f"py:{module}:{function} is not a function")
    predicate: Callable[[ModelReply], Any] = found
    return predicate


@dataclass(frozen=True, slots=True)
class JudgeTarget:
    """A model reads the reply and answers a question about it with yes or no; see `judging`."""

    question: str

    @property
    def spec(self) -> str:
        """`judge:"QUESTION"`."""
        return "judge:" + json.dumps(self.question, ensure_ascii=False)

    @property
    def label(self) -> str:
        """What happens, for people."""
        return "is what the judge was asked for"

    def matches(self, reply: ModelReply) -> bool:
        """Always UsageError: only an experiment can ask a model."""
        raise UsageError(
            f"{self.spec} needs a model to read the reply", hint="`whyspan odds` and `whyspan why` ask one"
        )


def _call_set(reply: ModelReply) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((c.name, canonical_arguments(c.arguments)) for c in reply.tool_calls))


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
