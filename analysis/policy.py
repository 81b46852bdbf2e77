"""The policy: what agents must never do, what runs may use, and which scores are bad.

It stands in `policy.yaml`, in the folder one works in, or as `[policy]` in the settings; the file wins, key by key.

    never: ["tool:drop_database", "tool:issue_refund[amount_usd>500]"]   # answers that break it
    tools: {deny: [wire_money]}                     # that an answer may call
    live_tools: recorded                            # never | recorded | {allow: [look_up]}
    providers: [rules, ollama]                      # that may be asked
    hosts: {deny: ["*.example.com"]}                # that requests to models may go to
    commands: [python, pytest]                      # that evaluators, verifiers and proposers may start
    executors: [docker]                             # that run generated code: local, or the first word of `wrap`
    network: false                                  # for generated code
    limits: {calls: 500, tokens: 200000, seconds: 600, usd: 2.0}         # of one command
    bad_below: {reward: 0.5}                        # what triage counts as a bad score

A rule of `never` is an event, in the grammar of `targets`, so the decision that breaks it is at once the question to
ask. A list of names allows these alone; names may have `*` and `?`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..ingest.calls import ModelReply, ToolCall
from ..ingest.errors import ConfigError, UsageError
from ..ingest.settings import load_section
from .replay.budget import Budget
from .targets import JudgeTarget, Target, parse_target
from .yaml_files import Table, read_table, texts_or_none

FILE = Path("policy.yaml")
LOCAL = "local"
"""The executor that is this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names that may be used; without a rule all of them."""

    place: str = ""
    """Where the rule stands, for refusals."""
    allow: tuple[str, ...] | None = None
    """Patterns; None for everything."""
    deny: tuple[str, ...] = ()
    """Patterns; they count before `allow`."""

    def permits(self, name: str) -> bool:
        """Whether a name may be used."""
        is_allowed = self.allow is None or any(fnmatchcase(name, pattern) for pattern in self.allow)
        return is_allowed and not any(fnmatchcase(name, pattern) for pattern in self.deny)

    def check(self, name: str) -> None:
        """Raises UsageError, with the rule, where a name may not be used."""
        if not self.permits(name):
            raise UsageError(f"{name!r} is not allowed: {self.place}", hint=self._hint())

    def _hint(self) -> str | None:
        return None if self.allow is None else "allowed: " + (", ".join(self.allow) or "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was taken before."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    usd: float = 0.0


NOTHING = Taken()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a command or mission may take; None where it is not limited."""

    place: str = ""
    """Where that stands."""
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None

    def check(self, name: str, value: float | None) -> None:
        """Raises UsageError where an option asks for more of `calls`, `tokens`, `seconds` or `usd`."""
        most = getattr(self, name)
        if value is not None and most is not None and value > most:
            raise UsageError(f"{value:g} {name} are more than the policy allows: {self.place}.{name}: {most:g}")

    def cap(self, budget: Budget, spent: Taken = NOTHING) -> None:
        """Lowers the caps of a budget to what is left of these after what was spent before."""
        if self.calls is not None:
            budget.cap = min(budget.cap, max(0, self.calls - spent.calls))
        if self.tokens is not None:
            left = max(0, self.tokens - spent.tokens)
            budget.token_cap = left if budget.token_cap is None else min(budget.token_cap, left)
        if self.usd is not None:
            rest = max(0.0, self.usd - spent.usd)
            budget.cost_cap_usd = rest if budget.cost_cap_usd is None else min(budget.cost_cap_usd, rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the policy says; without one everything is allowed."""

    never: tuple[Target, ...] = ()
    """Outcomes that break the policy."""
    bad_below: Mapping[str, float] = field(default_factory=dict)
    """Name of a score → values below it are bad."""
    tools: Names = Names()
    """That an answer may call."""
    live_tools: Names = Names(place="live_tools: recorded, which is the default", allow=())
    """Tools of an environment that act on the world outside; others are simulated or recorded."""
    environments: bool = True
    """Whether scenarios may be played in environments at all; `live_tools: never` forbids it."""
    providers: Names = Names()
    hosts: Names = Names()
    commands: Names = Names()
    executors: Names = Names()
    network: bool = True
    """Whether generated code has a network."""
    limits: Limits = Limits()

    @property
    def answer_rules(self) -> list[str]:
        """What decides which answers are refused; empty without such rules."""
        lists = [*(self.tools.allow or ()), "", *self.tools.deny]
        return [rule.spec for rule in self.never] + (lists if self.tools != Names() else [])

    def broken_by(self, calls: Sequence[Mapping[str, Any]], text: str) -> list[Target]:
        """Returns the rules of `never` that a reply breaks; `calls` are rows of `decisions.tool_calls`."""
        reply = ModelReply(
            text=text, tool_calls=tuple(ToolCall(name=c["name"], arguments=c["arguments"] or "") for c in calls)
        )
        return [rule for rule in self.never if rule.matches(reply)]

    def refusal(self, reply: ModelReply) -> str:
        """Returns why an answer is refused, with the rule; empty when it is not."""
        broken = next((rule for rule in self.never if rule.matches(reply)), None)
        if broken is not None:
            return f"the policy forbids it: never {broken.spec}"
        denied = next((c.name for c in reply.tool_calls if not self.tools.permits(c.name)), None)
        return f"the policy forbids it: tools: {denied}" if denied is not None else ""

    def check_environment(self, live_tools: Sequence[str]) -> None:
        """Raises UsageError where an environment with these live tools may not be played."""
        if not self.environments:
            raise UsageError(f"environments are not allowed: {self.live_tools.place}: never")
        for tool in live_tools:
            self.live_tools.check(tool)

    def check_endpoint(self, endpoint: str) -> None:
        """Raises UsageError where requests may not go to an endpoint; what is no URL stays on this machine."""
        host = urlsplit(endpoint).hostname if endpoint.startswith(("http://", "https://")) else None
        if host:
            self.hosts.check(host)


NO_POLICY = Policy()


def load_policy() -> Policy:
    """Returns the policy in force. Raises ConfigError or FormatError that names the place and what is valid."""
    values = _read(Table(path=Path("[policy]"), values=load_section("policy"), error=ConfigError))
    if FILE.exists():
        values |= _read(read_table(FILE))
    return Policy(**values)


def _read(table: Table) -> dict[str, Any]:
    """Returns the fields of a policy that a table gives."""
    table.only(_READERS)
    return {field: value for name in table.values for field, value in _READERS[name](table, name).items()}


def _never(table: Table, name: str) -> dict[str, Any]:
    try:
        rules = tuple(parse_target(rule) for rule in table.texts(name))
    except UsageError as error:
        table.fail(name, error.message, hint=error.hint)
    if asking := next((rule for rule in rules if isinstance(rule, JudgeTarget)), None):
        table.fail(name, f"{asking.spec!r} would ask a model", hint="the policy asks none: name a tool")
    return {name: rules}


def _names(table: Table, name: str) -> dict[str, Any]:
    place = table.where(name)
    if not isinstance(table.values[name], Mapping):
        words = "a list of names, or {allow: [...], deny: [...]}"
        return {name: Names(place=place, allow=table.read(name, words, texts_or_none))}
    rule = table.table(name).only(("allow", "deny"))
    allow = rule.texts("allow") if "allow" in rule else None
    return {name: Names(place=place, allow=allow, deny=rule.texts("deny", ()))}


def _live_tools(table: Table, name: str) -> dict[str, Any]:
    place = table.where(name)
    if isinstance(table.values[name], Mapping):
        return {name: Names(place=place, allow=table.table(name).only(("allow",)).texts("allow"))}
    word = table.choice(name, ("never", "recorded"))
    return {name: Names(place=place, allow=()), "environments": word == "recorded"}


def read_limits(table: Table, name: str) -> Limits:
    """Reads a field with the limits of a command or mission; one that is not there limits nothing."""
    limits = table.table(name).only(("calls", "tokens", "seconds", "usd"))
    whole: dict[str, Any] = {key: limits.whole(key) for key in ("calls", "tokens") if key in limits}
    other: dict[str, Any] = {key: limits.number(key) for key in ("seconds", "usd") if key in limits}
    return Limits(place=table.where(name), **whole, **other)


def _bad_below(table: Table, name: str) -> dict[str, Any]:
    scores = table.table(name)
    return {name: {score: scores.read(score, "a number", _number) for score in scores.values}}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_READERS: Mapping[str, Callable[[Table, str], dict[str, Any]]] = {
    "never": _never,
    "tools": _names,
    "live_tools": _live_tools,
    "providers": _names,
    "hosts": _names,
    "commands": _names,
    "executors": _names,
    "network": lambda table, name: {name: table.flag(name)},
    "limits": lambda table, name: {name: read_limits(table, name)},
    "bad_below": _bad_below,
}
"""Field → what reads it, as fields of Policy."""
