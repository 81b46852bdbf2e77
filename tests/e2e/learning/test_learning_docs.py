"""What docs/learning.md shows is true: its commands run offline, its files are read."""

import shlex
import textwrap
from pathlib import Path

import pytest

from whyspan.analysis.learning.missions.mission import read_mission
from whyspan.analysis.learning.scenarios.creation import template_names
from whyspan.analysis.learning.sweep import read_sweep
from whyspan.analysis.policy import load_policy
from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode

PAGE = (Path(__file__).parents[3] / "docs" / "learning.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(title: str) -> list[str]:
    lines = (line.strip() for line in section(title).splitlines() if line.startswith("    whyspan "))
    return [line.removeprefix("whyspan ") for line in lines]


def block(title: str, first: str) -> str:
    """Returns the indented block that begins with a line."""
    lines = section(title).splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip().startswith(first))
    end = start + 1
    while end < len(lines) and lines[end].startswith("    ") and not lines[end].startswith("    whyspan "):
        end += 1
    return textwrap.dedent("\n".join(lines[start:end]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_the_commands_to_try_run_offline_in_their_order(folder: Path) -> None:
    for command in [*commands("Try it"), *commands("What it takes")]:
        assert main(shlex.split(command)) == ExitCode.OK, command
    assert (folder / "sft.jsonl").read_text().count("\n") > 0
    assert (folder / "dpo.jsonl").read_text().count("\n") > 0


def test_the_files_it_shows_are_read(folder: Path) -> None:
    assert main(["scenario", "new", "--template", "support_reply", "--name", "support"]) == ExitCode.OK
    (folder / "sweep.yaml").write_text(block("Sweeps", "# sweep.yaml"))
    assert len(read_sweep(folder / "sweep.yaml").combinations) == 4
    (folder / "mission.yaml").write_text(block("Missions", "# mission.yaml"))
    assert read_mission(folder / "mission.yaml").limits.tokens == 20000
    (folder / "policy.yaml").write_text(block("The policy", "never:"))
    policy = load_policy()
    assert (policy.limits.seconds, policy.network, policy.executors.allow) == (600.0, False, ("local", "docker"))


def test_it_names_every_template() -> None:
    assert all(f"`--template {name}`" in PAGE or f"`{name}`" in PAGE for name in template_names())
