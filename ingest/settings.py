"""The one table of settings: names, environment variables, defaults. Precedence: argument > environment >
`./whyspan.toml` > user file > default. Keys (secrets) come from the environment only and are not settings.

Beside these scalars a file may hold sections, such as `[providers]`: nested tables that the part they are for reads
with `load_section` and checks by itself.
"""

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the table."""

    name: str
    """Key in whyspan.toml."""
    env: str
    type: type
    default: Any
    help: str


TABLE = (
    Setting(name="store", env="WHYSPAN_STORE", type=str, default=".whyspan", help="Folder of the store."),
    Setting(name="host", env="WHYSPAN_HOST", type=str, default="127.0.0.1", help="Address the collector binds."),
    Setting(name="grpc_port", env="WHYSPAN_GRPC_PORT", type=int, default=4317, help="OTLP/gRPC port."),
    Setting(name="http_port", env="WHYSPAN_HTTP_PORT", type=int, default=4318, help="OTLP/HTTP port."),
    Setting(
        name="base_url", env="WHYSPAN_BASE_URL", type=str, default="",
        help="OpenAI-compatible endpoint for replays, e.g. http://127.0.0.1:8000/v1.",
    ),
    Setting(name="budget", env="WHYSPAN_BUDGET", type=int, default=200, help="Replays that one command may make."),
    Setting(name="concurrency", env="WHYSPAN_CONCURRENCY", type=int, default=8, help="Replays in flight at once."),
)  # fmt: skip

SECTIONS = {
    "providers": "Where replays go, by service, provider and model.",
    "redact": "What the collector removes before anything is stored.",
    "limits": "What a request, and a client of the collector, may use.",
    "policy": "What agents must never do, and what runs may use; the same as policy.yaml.",
    "jobs": "Selections of decisions, what to do with them, and their budgets.",
    "links": "URL templates of a trace in your own tools.",
    "langfuse": "Projects to import from and to write to, one table a profile.",
    "overlays": "Files with tools, parameters or a system prompt that the spans of a service never hold.",
    "prices": "Prices of models, where you know better than the price list.",
}
"""Section of a settings file → what it is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force, one field a row of the table."""

    store: str
    host: str
    grpc_port: int
    http_port: int
    base_url: str
    budget: int
    concurrency: int


def load_settings(arguments: Mapping[str, Any], *, environ: Mapping[str, str] | None = None) -> Settings:
    """Returns the settings in force. `arguments` wins where a value is not None.

    Raises ConfigError for an unknown key (naming the nearest) or a value of the wrong type.
    """
    env = os.environ if environ is None else environ
    files = [_read(path) for path in _files(env)]
    values: dict[str, Any] = {}
    for row in TABLE:
        candidates = [(arguments.get(row.name), "argument"), (env.get(row.env) or None, row.env)]
        candidates += [(file.get(row.name), name) for name, file in files]
        value, origin = next(((v, o) for v, o in candidates if v is not None), (row.default, "default"))
        values[row.name] = _convert(row, value, origin)
    return Settings(**values)


def load_section(name: str, *, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns a section of the settings files as it stands there, `./whyspan.toml` over the user file, key by key.

    Raises ConfigError when it is no table; its content is for the caller to check.
    """
    merged: dict[str, Any] = {}
    for file, table in reversed([_read(path) for path in _files(os.environ if environ is None else environ)]):
        section = table.get(name, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{file}: [{name}] must be a table, not {section!r}")
        merged |= section
    return merged


def nearest(word: str, known: Iterable[str]) -> str:
    """Returns a hint for a wrong name: the nearest valid one, else all of them."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(names)


def _files(env: Mapping[str, str]) -> tuple[Path, Path]:
    user = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "whyspan" / "config.toml"
    return Path("whyspan.toml"), user


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return str(path), {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    known = [*(row.name for row in TABLE), *SECTIONS]
    for key in table:
        if key not in known:
            raise ConfigError(f"{path}: unknown setting {key!r}", hint=nearest(key, known))
    return str(path), table


def _convert(row: Setting, value: Any, origin: str) -> Any:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValueError
        return row.type(value)
    except ValueError:
        raise ConfigError(
            f"{row.name} must be {'a whole number' if row.type is int else 'text'}, not {value!r} ({origin})"
        ) from None
