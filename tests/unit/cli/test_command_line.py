"""The edge of the command line: help, wrong words, errors as one line with a hint and an exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from whyspan.cli import main as command_line
from whyspan.ingest.errors import ExitCode


def test_every_command_of_the_table_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in command_line.COMMANDS:
        assert command_line.main([name, "--help"]) == ExitCode.OK
        assert f"whyspan {name}" in capsys.readouterr().out


def test_help_imports_nothing_heavy() -> None:
    heavy = ["duckdb", "pyarrow", "grpc", "httpx", "scipy", "numpy", "opentelemetry", "uvicorn"]
    script = (
        "import sys\nfrom whyspan.cli.main import main\nmain(['--help'])\n"
        f"sys.exit(','.join(m for m in {heavy} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_package_is_light() -> None:
    script = "import sys, whyspan\nsys.exit(len([m for m in sys.modules if m.startswith('whyspan')]))"
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == 1


def test_a_wrong_command_names_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["wyh"]) == ExitCode.USAGE
    assert capsys.readouterr().err == "error: there is no command 'wyh'\nhint: did you mean `whyspan why`?\n"


def test_a_wrong_option_is_a_usage_error_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["why", "--nope"]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert error.startswith("error: No such option")
    assert "hint: `whyspan why --help` shows the usage" in error


@pytest.mark.parametrize(
    "command", ["runs", "show", "calls", "test --out test_x.py", "why --base-url http://127.0.0.1:9"]
)
def test_without_a_store_every_command_says_how_to_get_one(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line.main(command.split()) == ExitCode.BAD_DATA
    error = capsys.readouterr().err
    assert "error: no store at .whyspan" in error
    assert "whyspan demo" in error
    assert not (tmp_path / ".whyspan").exists()


def test_why_without_a_model_says_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WHYSPAN_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert command_line.main(["why"]) == ExitCode.USAGE
    assert "--model-fn FILE:FUNCTION" in capsys.readouterr().err


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.cli, "main", interrupt)
    assert command_line.main([]) == ExitCode.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err
