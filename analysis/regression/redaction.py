"""Takes secrets out of a case before it leaves the store, and keeps everything that the decision may depend on.

Only what is certainly a secret is replaced: a test that asks about another text than the one that was recorded proves
little. What else leaves the store (addresses, hosts, long numbers) is listed for the person who commits the file.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ...ingest.calls import Json
from ...ingest.errors import UsageError
from ..cases import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that is replaced wherever it stands."""

    name: str
    """What the placeholder calls it."""
    pattern: re.Pattern[str]
    """Its group `secret`, where it has one, is what is replaced; else the whole match."""


def _rule(name: str, pattern: str) -> Rule:
    return Rule(name=name, pattern=re.compile(pattern))


# Formats that their issuers document, each with a fixed prefix: a random word cannot be taken for one.
SECRETS: tuple[Rule, ...] = (
    _rule("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----"),
    _rule("API key", r"\b(?:sk|pk|rk)-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{20,}"),
    _rule("Stripe key", r"\b[spr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _rule("AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _rule("Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
    _rule("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    _rule("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _rule("Slack token", r"\bxox[abposr]-[A-Za-z0-9-]{10,}"),
    _rule("JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _rule("bearer token", r"(?i:\bbearer\s+)(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)"),
    _rule("password in a URL", r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:(?P<secret>[^\s/@]+)@"),
)


def user_rule(pattern: str) -> Rule:
    """Reads a user's own regular expression; UsageError when it is none."""
    try:
        return Rule(name="text", pattern=re.compile(pattern))
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A case without its secrets."""

    case: Case
    counts: Mapping[str, int]
    """Rule → how many texts it replaced, each counted as often as it stands."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Secret → placeholder; for other texts that quote the case, never to be written down."""

    def clean(self, value: Json) -> Json:
        """Returns a JSON value without the secrets that the case had."""
        return _map_strings(value, self._replace)

    def _replace(self, text: str) -> str:
        for secret, placeholder in self.replaced.items():
            text = text.replace(secret, placeholder)
        return text


def redact(case: Case, rules: Sequence[Rule] = SECRETS) -> Redacted:
    """Returns the case with every secret replaced: the same secret by the same placeholder, wherever it stands."""
    scrubber = _Scrubber(rules)
    request = _map_strings(case.request, scrubber)
    if not scrubber.counts:
        return Redacted(case=case, counts={})
    return Redacted(
        case=replace(case, request=request), counts=dict(scrubber.counts), replaced=dict(scrubber.placeholders)
    )


class _Scrubber:
    """Replaces secrets, and remembers which placeholder each got."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.counts: Counter[str] = Counter()
        self.placeholders: dict[str, str] = {}
        self._rules = rules

    def __call__(self, text: str) -> str:
        for rule in self._rules:
            text = rule.pattern.sub(partial(self._replace, rule), text)
        return text

    def _replace(self, rule: Rule, match: re.Match[str]) -> str:
        group = "secret" if "secret" in rule.pattern.groupindex else 0
        secret = match[group]
        if not secret or secret.startswith("[redacted"):
            return match[0]
        self.counts[rule.name] += 1
        number = sum(p.startswith(f"[redacted {rule.name}") for p in self.placeholders.values()) + 1
        placeholder = self.placeholders.setdefault(secret, f"[redacted {rule.name} {number}]")
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + placeholder + match[0][end:]


def _map_strings(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {k: _map_strings(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_map_strings(v, change) for v in value]
    return value
