"""What every command shares when it speaks: the session, colour, tables, JSON, and safe printing of trace content."""

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..ingest.settings import Settings, load_settings

if TYPE_CHECKING:
    from ..ingest.store import Store

SCHEMA_VERSION = 1
"""Version of the JSON documents that `--json` prints."""


@dataclass
class Session:
    """The global options of one invocation; commands get it with `click.pass_obj`."""

    store_argument: str | None = None
    color: bool | None = None
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """Arguments over environment over files over defaults."""
        return load_settings({"store": self.store_argument})

    def open_store(self) -> "Store":
        """Opens the store for reading and writing; StoreError with the next command when there is none."""
        from ..ingest.store import Store

        return Store.open(self.settings.store)

    def create_store(self) -> "Store":
        """Opens the store, making it when there is none."""
        from ..ingest.store import Store

        return Store.create(self.settings.store)

    @property
    def store_path(self) -> Path:
        """The folder of the store, whether or not there is one."""
        return Path(self.settings.store)

    def command(self, words: str) -> str:
        """Returns a command to copy, with the store option the user had to give."""
        store = f" --store {self.store_argument}" if self.store_argument else ""
        return f"whyspan{store} {words}"


def use_color(stream: Any, forced: bool | None = None) -> bool:
    """Decides about colour: argument, NO_COLOR, FORCE_COLOR, then terminal."""
    if forced is not None:
        return forced
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


class Paint:
    """Terminal styles that do nothing when colour is off; text is made printable first."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, **style: Any) -> str:
        """Returns the text in a click style (`fg`, `bold`, `dim`, …)."""
        safe = printable(text)
        return click.style(safe, **style) if self.on and style else safe

    @classmethod
    def stdout(cls, session: Session) -> "Paint":
        """The painter for standard output."""
        return cls(use_color(sys.stdout, session.color))


def printable(text: str) -> str:
    """Returns text that cannot drive a terminal: control and bidirectional characters are shown as escapes.

    Trace content is untrusted; an escape sequence in a tool result must not move the cursor or retitle the window.
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _is_safe(c) else c.encode("unicode_escape").decode("ascii") for c in text)


def _is_safe(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def shorten(text: str, width: int) -> str:
    """Returns one line of at most `width` characters, whitespace folded."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: max(1, width - 1)] + "…"


def text_width() -> int:
    """Returns how wide prose should be: the terminal, within reason."""
    return min(100, max(60, shutil.get_terminal_size((100, 24)).columns))


def write_json(document: Mapping[str, Any]) -> None:
    """Prints one JSON document with its schema version; nothing else may go to standard output then."""
    click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **document}, ensure_ascii=False, indent=2, default=str))


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, width: int = 60) -> None:
    """Prints an aligned table; cells are shortened to `width` characters."""
    cells = [[shorten(printable("" if v is None else str(v)), width) for v in row] for row in rows]
    widths = [max(len(c), *(len(r[i]) for r in cells)) if cells else len(c) for i, c in enumerate(columns)]
    for line in ([*columns], ["-" * w for w in widths], *cells):
        click.echo("  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)).rstrip())
