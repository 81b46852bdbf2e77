"""The example workflows, against the schemas that their platforms publish."""

import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / "deploy" / "ci"
SCHEMAS = {
    "github-actions.yml": ["--builtin-schema", "vendor.github-workflows"],
    "gitlab-ci.yml": ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}


def check(path: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_workflow_has_a_schema() -> None:
    assert {p.name for p in CI.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_workflow_follows_its_schema(name: str) -> None:
    done = check(CI / name, SCHEMAS[name])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("github-actions.yml", "runs-on", "runs-in"), ("gitlab-ci.yml", "extends: .agent-decisions", "extends: 7")],
)
def test_the_schema_would_notice_a_mistake(tmp_path: Path, name: str, old: str, new: str) -> None:
    text = (CI / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    assert check(tmp_path / name, SCHEMAS[name]).returncode != 0
