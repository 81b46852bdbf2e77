"""What must not be stored is taken out before it reaches the disk: `[redact]` in whyspan.toml, and known leaks always.

Works on the protobuf request, so that nothing downstream ever sees the original. Replacements contain no quote and no
backslash: JSON inside a value stays JSON.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from ..ingest.errors import ConfigError
from ..ingest.settings import nearest

PRESETS: Mapping[str, str] = {
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "keys": r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{35}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+|(?<=[Bb]earer )[\w.~+/-]{16,}=*",
    "cards": r"\b(?:\d[ -]?){12,18}\d\b",
}
"""Ready-made patterns; card numbers must also have a right check digit."""

_LEAKS = re.compile(
    r"langsmith\.metadata\.LANG(?:SMITH|CHAIN)_.*"
    r"|http\.(?:request|response)\.header\.(?:authorization|proxy[-_]authorization|cookie|set[-_]cookie|x[-_]api[-_]key"
    r"|api[-_]key)",
    re.IGNORECASE,
)
"""Attributes into which instrumentations write secrets of the process unasked."""
_LEAKY_SCOPES = (
    (re.compile("langsmith", re.IGNORECASE), (b"langsmith.metadata.LANG",)),
    (
        re.compile(
            "http|requests|urllib|[aw]sgi|flask|django|fastapi|starlette|tornado|falcon|pyramid|express", re.IGNORECASE
        ),
        (b"http.request.header.", b"http.response.header."),
    ),
)
"""Instrumentations that are known to leak, and what there is in a request of theirs that does."""
_OPTIONS = ("presets", "patterns", "attributes")
REDACTED = "[redacted]"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text to take out."""

    name: str
    regex: re.Pattern[str]

    def clean(self, text: str) -> str:
        """Returns the text without what matches."""
        return self.regex.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        if self.name == "cards" and not _has_check_digit(match[0]):
            return match[0]
        return f"[redacted:{self.name}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactor:
    """Rewrites requests."""

    patterns: Sequence[Pattern] = ()
    keys: re.Pattern[str] | None = None
    """Attributes whose value goes as a whole."""

    def clean_traces(self, request: Any, payload: bytes) -> bytes:
        """Returns a trace export request (given parsed, and as bytes) without what is to be taken out."""
        groups = [(group, scope_group) for group in request.resource_spans for scope_group in group.scope_spans]
        if not self._is_needed([scope_group.scope.name for _, scope_group in groups], payload):
            return payload
        for group, scope_group in groups:
            self._clean_attributes(group.resource.attributes)
            self._clean_attributes(scope_group.scope.attributes)
            for span in scope_group.spans:
                self._clean_span(span)
        cleaned: bytes = request.SerializeToString()
        return cleaned

    def clean_logs(self, request: Any, payload: bytes) -> bytes:
        """Returns a log export request (given parsed, and as bytes) without what is to be taken out."""
        groups = [(group, scope_group) for group in request.resource_logs for scope_group in group.scope_logs]
        if not self._is_needed([scope_group.scope.name for _, scope_group in groups], payload):
            return payload
        for group, scope_group in groups:
            self._clean_attributes(group.resource.attributes)
            self._clean_attributes(scope_group.scope.attributes)
            for record in scope_group.log_records:
                self._clean_attributes(record.attributes)
                self._clean_value(record.body)
        cleaned: bytes = request.SerializeToString()
        return cleaned

    def _is_needed(self, scopes: Sequence[str], payload: bytes) -> bool:
        """Tells whether the request has to be gone through.

        Looking for the marks of leaks in all bytes costs as much as parsing them, so only the instrumentations that
        are known to leak are suspected.
        """
        if self.patterns or self.keys:
            return True
        return any(
            any(map(leaky.search, scopes)) and any(mark in payload for mark in marks) for leaky, marks in _LEAKY_SCOPES
        )

    def _clean_span(self, span: Any) -> None:
        span.name = self._clean_text(span.name)
        if span.status.message:
            span.status.message = self._clean_text(span.status.message)
        self._clean_attributes(span.attributes)
        for part in (*span.events, *span.links):
            self._clean_attributes(part.attributes)

    def _clean_attributes(self, pairs: Iterable[Any]) -> None:
        for pair in pairs:
            if _LEAKS.fullmatch(pair.key) or (self.keys and self.keys.fullmatch(pair.key)):
                pair.value.string_value = REDACTED
            elif self.patterns:
                self._clean_value(pair.value)

    def _clean_value(self, value: Any) -> None:
        match value.WhichOneof("value"):
            case "string_value":
                value.string_value = self._clean_text(value.string_value)
            case "bytes_value":
                # Only where it is text: a pattern has no meaning in other bytes.
                text = value.bytes_value.decode("utf-8", "surrogateescape")
                value.bytes_value = self._clean_text(text).encode("utf-8", "surrogateescape")
            case "array_value":
                for item in value.array_value.values:
                    self._clean_value(item)
            case "kvlist_value":
                self._clean_attributes(value.kvlist_value.values)

    def _clean_text(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.clean(text)
        return text


def build_redactor(section: Mapping[str, Any]) -> Redactor:
    """Returns the redactor of a `[redact]` section; raises ConfigError for what it cannot mean.

    `presets`: names of PRESETS; `patterns`: regular expressions; `attributes`: keys, `*` standing for anything.
    """
    for key in section:
        if key not in _OPTIONS:
            raise ConfigError(f"[redact]: unknown setting {key!r}", hint=nearest(key, _OPTIONS))
    presets, patterns, attributes = (_texts(section, option) for option in _OPTIONS)
    for name in presets:
        if name not in PRESETS:
            raise ConfigError(f"[redact] presets: there is no {name!r}", hint=nearest(name, PRESETS))
    return Redactor(
        patterns=(
            *(Pattern(name, re.compile(PRESETS[name])) for name in presets),
            *(Pattern("pattern", _compiled(text)) for text in patterns),
        ),
        keys=re.compile("|".join(map(translate, attributes))) if attributes else None,
    )


def _texts(section: Mapping[str, Any], option: str) -> list[str]:
    value = section.get(option, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ConfigError(f"[redact] {option} must be a list of texts, not {value!r}")
    return value


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigError(f"[redact] patterns: {text!r} is no regular expression: {error}") from error


def _has_check_digit(text: str) -> bool:
    """Luhn's test (ISO/IEC 7812-1): keeps order numbers and times from being taken for cards."""
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
