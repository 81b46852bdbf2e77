"""The wheel and the sdist hold exactly the tree, and the installed package works where folders share our names."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("analysis", "cli", "collector", "ingest")


def tracked(*folders: str) -> set[str]:
    """Files below folders, as they are in the tree."""
    found = (p for f in folders for p in (ROOT / f).rglob("*") if p.is_file())
    return {str(p.relative_to(ROOT)) for p in found if "__pycache__" not in p.parts and p.suffix != ".pyc"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)], cwd=ROOT, check=True, capture_output=True
    )
    return out


def test_the_wheel_holds_the_four_folders_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {n for n in wheel.namelist() if ".dist-info/" not in n}
    package = {f"whyspan/{n}" for n in tracked(*FOLDERS)}
    assert names == package | {"whyspan/__init__.py", "whyspan/__main__.py", "whyspan/py.typed"}


def test_the_sdist_holds_code_and_tests(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {n.partition("/")[2] for n in sdist.getnames()}
    wanted = tracked(*FOLDERS, "tests") | {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert wanted - names == set()


def test_the_wheel_runs_beside_foreign_folders_of_the_same_names(built: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    project = tmp_path / "project"
    for folder in FOLDERS:
        (project / folder).mkdir(parents=True)
        (project / folder / "__init__.py").write_text("raise ImportError('the foreign folder was imported')\n")
    script = (
        f"import sys; sys.path.insert(0, {str(site)!r}); import whyspan; from whyspan.cli.main import main; "
        "print(whyspan.__file__); sys.exit(main(['why', '--help']))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(site / "whyspan/__init__.py")


def test_every_public_name_can_be_imported() -> None:
    import whyspan

    for name in whyspan.__all__:
        assert getattr(whyspan, name) is not None
    assert set(whyspan.__all__) <= set(dir(whyspan))
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        whyspan.nope  # noqa: B018  # the access is the test
