r"""Targets: which outcome of a model call is asked about.

    tool:NAME                      the reply calls NAME
    tool:NAME[to~'@evil', n>=2]    … with arguments that match; PATH OP VALUE, OP one of = != ~ < > <= >=
    text:/REGEX/                   the reply text matches
    no-tool                        the reply calls no tool
    finish:REASON                  the reply ended for that reason
    last | #N | span:ID            that call of the run, and the outcome it had

The first four say which replies count and pick the last call of the run that had one. The others pick the call, and
the outcome is what it did: the same tools with the same arguments, formatting aside, or an answer without tools.
A frozen target of that kind is written `calls:[["NAME", {arguments}], …]`.
"""

import json
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from ..ingest.calls import ModelCall, ModelReply
from ..ingest.errors import NotFoundError, NotReplayableError, UsageError
from .attribution.problem import Outcome
from .canonical import canonical_arguments, canonical_json

QUESTION_MARKS = ("?", "\uff1f", "\u061f")
"""Latin, fullwidth and Arabic."""
GRAMMAR = "tool:NAME, tool:NAME[path~'regex'], text:/REGEX/, no-tool, finish:REASON, last, #N, span:ID"


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
    """Dotted path into the arguments; numbers index lists."""
    op: str
    value: str

    def holds(self, arguments: Any) -> bool:
        """Compares; a path that is absent never holds, whatever the operator."""
        found = arguments
        for step in self.path.split("."):
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                return False
        text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        if self.op == "~":
            return re.search(self.value, text) is not None
        if self.op in {"=", "!="}:
            return (text == self.value) == (self.op == "=")
        try:
            left, right = float(text), float(self.value)
        except ValueError:
            return False
        return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[self.op]


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
        """Compares with the provider's word."""
        return reply.finish_reason == self.reason


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


def classify(target: Target, reply: ModelReply, known: Set[tuple[str, str]]) -> Outcome:
    """Returns what a reply is: the target, a different action, or a step back.

    `known` are the calls that the request's history holds (`fields.previous_calls`). `ASKS` is a reply that gets no further: it is empty or refused, puts a question, or fetches again what the history
    already holds; that is what a model does when a piece it *needs* is gone.
    """
    if target.matches(reply):
        return Outcome.TARGET
    if reply.tool_calls:
        again = all((c.name, canonical_arguments(c.arguments)) in known for c in reply.tool_calls)
        return Outcome.ASKS if again else Outcome.OTHER
    text = reply.text.strip()
    asks = not text or bool(reply.refusal) or text.endswith(QUESTION_MARKS)
    return Outcome.ASKS if asks else Outcome.OTHER


def select(calls: Sequence[ModelCall], event: str) -> tuple[ModelCall, Target]:
    """Picks the model call that EVENT names among the calls of a run, and the outcome it asks about.

    Raises UsageError for an event that is not in the grammar, NotFoundError when no call has the outcome.
    """
    if not calls:
        raise NotFoundError(
            "the run has no model call",
            hint="whyspan reads OpenTelemetry GenAI and OpenInference spans; `whyspan show` lists what was recorded",
        )
    if event in {"last", ""}:
        return _as_it_was(calls[-1])
    if number := re.fullmatch(r"#(\d+)", event):
        index = int(number[1])
        if not 1 <= index <= len(calls):
            raise NotFoundError(f"the run has {len(calls)} model calls, so there is no {event}", hint=events_of(calls))
        return _as_it_was(calls[index - 1])
    if event.startswith("span:"):
        found = [c for c in calls if c.span_id.startswith(event[5:])]
        if len(found) != 1:
            raise NotFoundError(f"{len(found)} model calls of the run have {event}", hint=events_of(calls))
        return _as_it_was(found[0])
    target = parse_target(event)
    if not any(call.replies for call in calls):
        raise _without_reply(calls[-1])
    for call in reversed(calls):
        if any(target.matches(reply) for reply in call.replies):
            return call, target
    raise NotFoundError(f"no model call of the run has {event}", hint=events_of(calls))


def events_of(calls: Sequence[ModelCall]) -> str:
    """Returns the events that the calls of a run do have, as a hint."""
    names = dict.fromkeys(c.name for call in calls for reply in call.replies for c in reply.tool_calls)
    events = [f"tool:{n}" for n in names]
    return "events of this run: " + ", ".join([*events, "last", f"#1 … #{len(calls)}" if len(calls) > 1 else "#1"])


def parse_target(spec: str) -> Target:
    """Reads a target; UsageError points at what is wrong."""
    if spec == "no-tool":
        return NoToolTarget()
    if text := re.fullmatch(r"text:/(.*)/", spec, re.DOTALL):
        return TextTarget(_regex(text[1], spec))
    if finish := re.fullmatch(r"finish:(\S+)", spec):
        return FinishTarget(finish[1])
    if tool := re.fullmatch(r"tool:([^\[\]\s]+)(?:\[(.*)\])?", spec, re.DOTALL):
        return ToolTarget(tool[1], _conditions(tool[2], spec) if tool[2] is not None else ())
    if spec.startswith("calls:"):
        return _same_calls(spec)
    raise UsageError(f"{spec!r} is not an event", hint=f"events: {GRAMMAR}")


_CONDITION = re.compile(
    r"""\s*(?P<path>[\w.$-]+)\s*(?P<op><=|>=|!=|[=~<>])\s*(?:'(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<bare>[^,'\]\s]+))\s*(?:,|$)"""
)


def _conditions(inside: str, spec: str) -> tuple[Condition, ...]:
    found, at = [], 0
    while at < len(inside):
        match = _CONDITION.match(inside, at)
        if match is None:
            column = spec.index("[") + 1 + at
            raise UsageError(
                f"{spec!r} is wrong at character {column + 1}: {inside[at:]!r}",
                hint="conditions look like path~'regex', amount>100 or to='a@b.example', with commas between them",
            )
        quoted = match["quoted"]
        value = match["bare"] if quoted is None else re.sub(r"\\(['\\])", r"\1", quoted)
        if match["op"] == "~":
            _regex(value, spec)
        found.append(Condition(match["path"], match["op"], value))
        at = match.end()
    return tuple(found)


def _regex(pattern: str, spec: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{spec!r} holds a wrong regular expression: {error}") from error
    return pattern


def _same_calls(spec: str) -> SameCallsTarget:
    try:
        calls = json.loads(spec.removeprefix("calls:"))
        return SameCallsTarget(tuple(sorted((str(n), canonical_json(a)) for n, a in calls)))
    except (ValueError, TypeError) as error:
        raise UsageError(f"{spec!r} is not a list of calls: {error}") from error


def _as_it_was(call: ModelCall) -> tuple[ModelCall, Target]:
    if not call.replies:
        raise _without_reply(call)
    reply = call.replies[0]
    return call, SameCallsTarget.of(reply) if reply.tool_calls else NoToolTarget()


def _without_reply(call: ModelCall) -> NotReplayableError:
    remedy = next((m.remedy for m in call.completeness.missing if m.remedy), None)
    return NotReplayableError(f"the reply of call {call.span_id[:8]} was not recorded", hint=remedy)


def _call_set(reply: ModelReply) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((c.name, canonical_arguments(c.arguments)) for c in reply.tool_calls))


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
