"""The commands that the documentation shows exist, with the options that it gives them."""

import re
import shlex
from pathlib import Path

import click
import pytest

from whyspan.cli.main import cli
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
COMMANDS = [
    (page.name, line.strip().removeprefix("whyspan "))
    for page in PAGES
    for line in page.read_text("utf-8").splitlines()
    if re.match(r"    whyspan [a-z]+( [a-z]+)? [^\[]*$", line)
]


def resolve(words: list[str]) -> None:
    """Parses words as click would, without running anything."""
    group, context = cli, click.Context(cli)
    while True:
        command = group.get_command(context, words[0])
        assert command is not None, words
        words = words[1:]
        if not isinstance(command, click.Group):
            command.make_context(command.name, words, resilient_parsing=False).close()
            return
        group, context = command, click.Context(command)  # type: ignore[assignment]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}: {line[:40]}" for page, line in COMMANDS])
def test_a_command_of_the_docs_can_be_parsed(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keys = {"LANGFUSE_PUBLIC_KEY": "x", "LANGFUSE_SECRET_KEY": "x", "MLFLOW_TRACKING_URI": "http://127.0.0.1:5000"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    words = shlex.split(line)
    for file in (tmp_path / word for word in words if word.endswith(".yaml")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    resolve(words)


@pytest.mark.parametrize("line", [line for _, line in COMMANDS if line.startswith("sql ")])
def test_a_query_of_the_docs_runs(line: str, tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        assert run_query(store, shlex.split(line)[1]).columns


def test_the_pages_have_commands() -> None:
    assert {"README.md", "coming-from-langfuse.md", "coming-from-phoenix.md", "learning.md"} <= {p for p, _ in COMMANDS}
