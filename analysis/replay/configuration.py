"""`[providers]` in whyspan.toml: which calls are replayed where, and what their endpoint needs.

    [providers.azure]
    match = { service = "billing", api = "openai.chat", model = "gpt-4o*" }
    base_url = "https://example.openai.azure.com/openai/v1"
    key = "AZURE_OPENAI_API_KEY"        # the variable that holds it, never the key
    key_header = "api-key"

The first entry that matches a call counts. Keys come from the environment only.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any

from ...ingest.calls import Api, Json
from ...ingest.errors import ConfigError
from ...ingest.settings import nearest

MATCHABLE = ("service", "provider", "api", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEntry:
    """One table below `[providers]`."""

    name: str
    base_url: str
    """The root that the API's own paths follow."""
    match: Mapping[str, str] = field(default_factory=dict)
    """service, provider, api or model → a pattern with `*` and `?`; all of them must match."""
    key: str = ""
    """The variable that holds the key; empty when the endpoint needs none."""
    key_header: str = ""
    """The header that carries it; the API's own when empty."""
    model: str = ""
    """Asked in the place of the recorded model, where the endpoint has its own names."""
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Json] = field(default_factory=dict)
    """Fields added to every request, such as `provider = { order = ["openai"], allow_fallbacks = false }`."""
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    timeout_s: float = 120.0

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether a call with these values is meant."""
        return all(fnmatchcase(values.get(name, ""), pattern) for name, pattern in self.match.items())


def read_entries(section: Mapping[str, Any]) -> tuple[ProviderEntry, ...]:
    """Reads the section; ConfigError names the table, the key, and what is wrong with it."""
    return tuple(_entry(name, table) for name, table in section.items())


def _entry(name: str, table: Any) -> ProviderEntry:
    place = f"[providers.{name}]"
    if not isinstance(table, dict):
        raise ConfigError(f"{place} must be a table, not {table!r}")
    known = {f.name: f for f in fields(ProviderEntry) if f.name != "name"}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{place}: unknown key {key!r}", hint=nearest(key, known))
        _check(f"{place} {key}", value, known[key].default, known[key].default_factory is not MISSING)
    if "base_url" not in table:
        raise ConfigError(f"{place} has no base_url", hint='base_url = "https://…" says where replays go')
    match = table.get("match", {})
    for key, pattern in match.items():
        if key not in MATCHABLE:
            raise ConfigError(f"{place} match: unknown key {key!r}", hint=nearest(key, MATCHABLE))
        _check(f"{place} match.{key}", pattern, "", False)
    if "api" in match and match["api"] not in list(Api) and not set("*?") & set(match["api"]):
        raise ConfigError(f"{place}: unknown api {match['api']!r}", hint=nearest(match["api"], list(Api)))
    return ProviderEntry(name=name, **table)


def _check(place: str, value: Any, default: Any, is_table: bool) -> None:
    wanted = dict if is_table else int | float if isinstance(default, float) else int if default == 0 else str
    if not isinstance(value, wanted) or isinstance(value, bool):
        words = "a table" if is_table else "text" if wanted is str else "a number"
        raise ConfigError(f"{place} must be {words}, not {value!r}")
