"""docs/targets.md and docs/replays.md name events, settings, options and variables that exist."""

import re
import tomllib
from pathlib import Path

import pytest

from whyspan.analysis.replay.configuration import read_entries
from whyspan.analysis.replay.vendors import VENDORS
from whyspan.analysis.targets import parse_target
from whyspan.cli.main import cli
from whyspan.ingest.errors import UsageError

DOCS = Path(__file__).parents[2] / "docs"
TARGETS = (DOCS / "targets.md").read_text("utf-8")
REPLAYS = (DOCS / "replays.md").read_text("utf-8")


def test_every_event_of_the_table_is_read() -> None:
    cells = re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", TARGETS, re.MULTILINE)
    events = [e for cell in cells for e in re.findall(r"`([^`]+)`", cell)]
    outcomes = [e for e in events if e not in {"last", "#N", "span:ID"}]
    assert len(outcomes) >= 8
    for event in outcomes:
        parse_target(event)


def test_the_error_that_is_shown_is_the_one_that_comes() -> None:
    with pytest.raises(UsageError) as caught:
        parse_target("tool:send[to ? 2]")
    shown = "\n".join(line.removeprefix("    ") for line in TARGETS.splitlines()[-3:])
    assert f"error: {caught.value.message}" == shown


def test_the_settings_of_the_example_are_valid() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", REPLAYS, re.DOTALL)
    assert [e.name for e in read_entries(tomllib.loads(example)["providers"])] == ["azure", "router"]


def test_every_option_that_is_named_exists() -> None:
    import click

    context = click.Context(cli)
    known = set()
    for name in ("odds", "replay", "why"):
        command = cli.get_command(context, name)
        assert command is not None
        known |= {option for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"`(--?[a-z][a-z-]*)", REPLAYS))
    assert named
    assert named <= known


def test_every_key_variable_is_documented() -> None:
    for vendor in VENDORS:
        for variable in (*vendor.keys, vendor.url_variable):
            assert variable in REPLAYS
