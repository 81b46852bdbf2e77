"""docs/regression-tests.md names options, commands and methods that exist."""

import re
from pathlib import Path

import click
import pytest

from whyspan.analysis.regression.api import CaseUnderTest
from whyspan.cli.main import cli
from whyspan.cli.report.ci.artefacts import ARTEFACTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "regression-tests.md").read_text("utf-8")


def options_of(command: click.Command) -> set[str]:
    own = {option for parameter in command.params for option in parameter.opts}
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*(options_of(c) for c in inner))


def known_options() -> set[str]:
    commands = [cli.get_command(click.Context(cli), name) for name in ("fix", "test", "export", "ci")]
    plugins = ("analysis/regression/pytest_plugin.py", "cli/report/pytest_report.py")
    ours = {o for p in plugins for o in re.findall(r'"(--whyspan-[a-z-]+)"', (ROOT / p).read_text("utf-8"))}
    return ours.union(*(options_of(c) for c in commands if c))


@pytest.mark.parametrize("option", sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))))
def test_an_option_in_the_docs_exists(option: str) -> None:
    assert option in known_options()


@pytest.mark.parametrize("method", sorted(set(re.findall(r"`\.(\w+)\(", TEXT))))
def test_a_method_in_the_docs_exists(method: str) -> None:
    assert callable(getattr(CaseUnderTest, method))


def test_every_artefact_is_in_the_docs() -> None:
    assert [name for name in ARTEFACTS if f"`{name}`" not in TEXT] == []
