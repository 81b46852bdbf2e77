"""The options `--tools`, `--params` and `--system` of every command that replays."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..ingest.overlays import read_overlay

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def overlay_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets what they say as `overlay` (an `Overlay`, perhaps an empty one)."""

    @click.option("--tools", "tools_file", type=_FILE, metavar="FILE", help="Tool definitions to use, as a JSON array.")
    @click.option("--params", "params_file", type=_FILE, metavar="FILE", help="Settings to use, as a JSON object.")
    @click.option("--system", "system_file", type=_FILE, metavar="FILE", help="System prompt to use.")
    @functools.wraps(command)
    def with_overlay(
        *args: Any, tools_file: Path | None, params_file: Path | None, system_file: Path | None, **kwargs: Any
    ) -> Any:
        overlay = read_overlay(tools=tools_file, params=params_file, system=system_file)
        return command(*args, overlay=overlay, **kwargs)

    return with_overlay
