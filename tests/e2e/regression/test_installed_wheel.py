"""Everything about regression tests from an installed wheel, in a project whose own folders have our folders' names."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PYPROJECT = """\
[tool.pytest.ini_options]
pythonpath = ["."]
addopts = "--strict-markers"
"""
FOLDERS = ("analysis", "cli", "collector", "ingest")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel installed; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    home = folder / "env"
    venv.create(home, with_pip=False)
    site = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    # Files of this kind inside the other folder are not read, so the editable install there stays out.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--no-deps", "-q"]
    subprocess.run([*install, "--no-index", str(next(folder.glob("*.whl")))], check=True, capture_output=True)
    return home / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
        (tmp_path / folder / "report.py").write_text("raise ImportError('the foreign module was imported')\n")
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    return tmp_path


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    outside = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "WHYSPAN_", "OPENAI_", "PYTHON"))}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=outside, capture_output=True, text=True, check=False, timeout=240
    )


def test_the_whole_job_runs_from_the_wheel(scripts: Path, project: Path, inbox: Any) -> None:
    where = run(scripts / "python", "-c", "import whyspan; print(whyspan.__file__)", cwd=project)
    assert where.stdout.startswith(str(scripts.parent))

    whyspan = (scripts / "whyspan", "--store", inbox.store)
    model = ("--model-fn", inbox.model)
    fix = run(
        *whyspan,
        "fix",
        "last",
        inbox.event,
        *model,
        "--budget",
        "500",
        "--write-test",
        "tests/test_mail.py",
        cwd=project,
    )
    assert fix.returncode == 0, fix.stdout + fix.stderr
    (project / "tests" / "test_own.py").write_text(
        "import analysis, cli\ndef test_own() -> None: assert cli.__file__\n"
    )

    pytest_command = (scripts / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--whyspan-report", "out")
    live = run(*pytest_command, "--whyspan-mode", "refresh", "--whyspan-model-fn", inbox.model, cwd=project)
    assert (live.returncode, "2 passed" in live.stdout) == (0, True), live.stdout + live.stderr
    recorded = run(*pytest_command, cwd=project)
    assert (recorded.returncode, "2 passed" in recorded.stdout) == (0, True), recorded.stdout + recorded.stderr

    assert {p.name for p in (project / "out").iterdir()} == {
        "summary.md", "junit.xml", "claims.json", "report.html", "whyspan.sarif",
    }  # fmt: skip
    assert len(json.loads((project / "out" / "claims.json").read_text())["tests"]) == 1
    comment = run(scripts / "whyspan", "ci", "comment", "out", cwd=project)
    assert comment.stdout.startswith("<!-- whyspan -->")
    exported = run(*whyspan, "export", "ci", "last", "--out", "out2", cwd=project)
    assert exported.returncode == 0, exported.stderr
