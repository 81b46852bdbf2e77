"""The options `--tools`, `--params` and `--system` of every command that replays."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..ingest.overlays import read_overlay, read_overlays
from ..ingest.settings import load_section

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


TOOLS = click.option(
    "--tools", "tools_file", type=_FILE, metavar="FILE", help="Tool definitions to use, as a JSON array."
)
PARAMS = click.option("--params", "params_file", type=_FILE, metavar="FILE", help="Settings to use, as a JSON object.")
SYSTEM = click.option("--system", "system_file", type=_FILE, metavar="FILE", help="System prompt to use.")


def overlay_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets what they and the settings say as `overlays`."""

    @functools.wraps(command)
    def with_overlay(
        *args: Any, tools_file: Path | None, params_file: Path | None, system_file: Path | None, **kwargs: Any
    ) -> Any:
        given = read_overlay(tools=tools_file, params=params_file, system=system_file)
        return command(*args, overlays=read_overlays(load_section("overlays"), given), **kwargs)

    return TOOLS(PARAMS(SYSTEM(with_overlay)))
