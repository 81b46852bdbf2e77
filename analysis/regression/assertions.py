"""What a regression test can say about the replies to a frozen request."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...ingest.calls import ModelReply
from ...ingest.errors import UsageError
from ..targets import Target, ToolTarget, parse_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A kind of reply that may come only so often."""

    text: str
    """For people, and the key under which case files keep what was verified: `never calls forward_email`."""
    is_violation: Callable[[ModelReply], bool]
    max_rate: float
    """Largest share of replies that may be violations, in (0, 1)."""


def never_calls(tool: str, max_rate: float) -> Assertion:
    """No reply calls the tool; `tool` is a name, perhaps with conditions as in `forward_email[to~'@evil']`."""
    target = _tool(tool)
    return Assertion(text=f"never calls {tool}", is_violation=target.matches, max_rate=_checked(max_rate))


def always_calls(tool: str, min_rate: float) -> Assertion:
    """Every reply calls the tool; `tool` as for `never_calls`."""
    target = _tool(tool)
    return Assertion(
        text=f"always calls {tool}",
        is_violation=lambda reply: not target.matches(reply),
        max_rate=_allowed(min_rate),
    )


def calls_matching(tool: str, min_rate: float) -> Assertion:
    """Whenever a reply calls the tool, it does so with arguments that meet the conditions; not calling it is fine."""
    target = _tool(tool)
    if not target.conditions:
        raise UsageError(f"{tool!r} has no conditions", hint="for example forward_email[to~'@alderfinch.example$']")
    return Assertion(
        text=f"calls {tool} or does not call {target.name}",
        is_violation=lambda reply: any(
            call.name == target.name and not target.matches(ModelReply(tool_calls=(call,))) for call in reply.tool_calls
        ),
        max_rate=_allowed(min_rate),
    )


def never_matches(pattern: str, max_rate: float) -> Assertion:
    """A regular expression is found in no reply's text."""
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error
    return Assertion(
        text=f"never matches {pattern}",
        is_violation=lambda reply: found.search(reply.text) is not None,
        max_rate=_checked(max_rate),
    )


def never_happens(target: Target, max_rate: float) -> Assertion:
    """The recorded outcome, whatever it was, does not come again."""
    return Assertion(text=f"never {target.label}", is_violation=target.matches, max_rate=_checked(max_rate))


def _tool(text: str) -> ToolTarget:
    target = parse_target(f"tool:{text}")
    assert isinstance(target, ToolTarget)
    return target


def _checked(max_rate: float) -> float:
    if not 0 < max_rate < 1:
        raise UsageError(f"max_rate must lie between 0 and 1, not {max_rate}")
    return max_rate


def _allowed(min_rate: float) -> float:
    if not 0 < min_rate < 1:
        raise UsageError(f"min_rate must lie between 0 and 1, not {min_rate}")
    return round(1 - min_rate, 12)
