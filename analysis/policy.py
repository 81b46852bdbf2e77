"""`[policy]`: what the user's agents must never do, and which scores are bad.

    [policy]
    never = ["tool:drop_database", "tool:issue_refund[amount_usd>500]"]
    bad_below = { reward = 0.5 }

A rule is an event, in the grammar of `targets`, so the decision that breaks it is at once the question to ask.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ingest.calls import ModelReply, ToolCall
from ..ingest.errors import ConfigError, UsageError
from ..ingest.settings import load_section, nearest
from .targets import JudgeTarget, Target, parse_target

KEYS = ("never", "bad_below")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What `[policy]` says."""

    never: tuple[Target, ...] = ()
    """Outcomes that break the policy."""
    bad_below: Mapping[str, float] = field(default_factory=dict)
    """Name of a score → values below it are bad."""

    def broken_by(self, calls: Sequence[Mapping[str, Any]], text: str) -> list[Target]:
        """Returns the rules that a reply breaks; `calls` are rows of `decisions.tool_calls`."""
        reply = ModelReply(
            text=text, tool_calls=tuple(ToolCall(name=c["name"], arguments=c["arguments"] or "") for c in calls)
        )
        return [rule for rule in self.never if rule.matches(reply)]


def load_policy() -> Policy:
    """Returns the policy of the settings files. Raises ConfigError that names what is wrong."""
    section = load_section("policy")
    for key in section:
        if key not in KEYS:
            raise ConfigError(f"[policy]: unknown key {key!r}", hint=nearest(key, KEYS))
    return Policy(never=_rules(section.get("never", [])), bad_below=_limits(section.get("bad_below", {})))


def _rules(value: Any) -> tuple[Target, ...]:
    if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
        raise ConfigError("[policy] never must be a list of events", hint='never = ["tool:drop_database"]')
    try:
        rules = tuple(parse_target(rule) for rule in value)
    except UsageError as error:
        raise ConfigError(f"[policy] never: {error.message}", hint=error.hint) from error
    if asking := next((rule for rule in rules if isinstance(rule, JudgeTarget)), None):
        raise ConfigError(f"[policy] never: {asking.spec!r} would ask a model", hint="triage calls none: name a tool")
    return rules


def _limits(value: Any) -> dict[str, float]:
    is_table = isinstance(value, dict)
    if not is_table or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value.values()):
        raise ConfigError("[policy] bad_below must be a table of numbers", hint="bad_below = { reward = 0.5 }")
    return {name: float(limit) for name, limit in value.items()}
