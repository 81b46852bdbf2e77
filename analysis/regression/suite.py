"""A folder of regression tests: where a new one goes, what was moved, and what no longer fits together."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...ingest.errors import FormatError, WhyspanError
from ..cases import Case
from ..fixes.candidates import tools_of
from .case_file import SUFFIX, read_case_file
from .redaction import Rule, redact
from .writer import identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a suite that needs a person."""

    path: Path
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteState:
    """What a suite holds."""

    cases: int
    tests: int
    """Python files that open a case."""
    problems: tuple[Problem, ...]


def place_in_suite(folder: Path, case: Case, rules: tuple[Rule, ...]) -> Path:
    """Returns the path of a case's test in a suite.

    A case that the suite has already, wherever it was moved and whatever it is called now, keeps its place; a new one
    gets a name that nothing else has.
    """
    wanted = redact(case, rules).case.id
    for path in _case_files(folder):
        if _id_in(path) == wanted:
            return path.parent.parent / f"test_{path.name.removesuffix(SUFFIX)}.py"
    name = _name(case)
    taken = {path.name.removesuffix(SUFFIX) for path in _case_files(folder)} | {
        path.stem.removeprefix("test_") for path in folder.rglob("test_*.py")
    }
    free = next(n for n in (name, *(f"{name}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)
    return folder / f"test_{free}.py"


def _name(case: Case) -> str:
    tools = tools_of(case.target)
    outcome = "_".join(tools) if tools else case.target.label
    return identifier(f"{case.origin.service} {outcome}" if case.origin.service else outcome)


def check_suite(folder: Path) -> SuiteState:
    """Looks through a suite for cases that cannot be read, copies, missing cases, and cases that no test opens."""
    cases = _case_files(folder)
    opened = {path: list(_opened_cases(path)) for path in sorted(folder.rglob("*.py"))}
    opened = {path: names for path, names in opened.items() if names}
    used = {path for names in opened.values() for path in names}
    problems = [
        *_unreadable(cases),
        *_copies(cases),
        *(
            Problem(path=test, what=f"opens {path.relative_to(folder) if path.is_relative_to(folder) else path}, "
                    "which is not there")
            for test, names in opened.items() for path in names if not path.exists()
        ),
        *(Problem(path=path, what="no test opens it") for path in cases if path.resolve() not in used),
    ]  # fmt: skip
    return SuiteState(cases=len(cases), tests=len(opened), problems=tuple(problems))


def _case_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def _id_in(path: Path) -> str:
    """Returns the id of the case in a file; empty when it cannot be read."""
    try:
        return read_case_file(path).case.id
    except WhyspanError:
        return ""


def _unreadable(cases: list[Path]) -> Iterator[Problem]:
    for path in cases:
        try:
            read_case_file(path)
        except WhyspanError as error:
            yield Problem(path=path, what=error.message)


def _copies(cases: list[Path]) -> Iterator[Problem]:
    first: dict[str, Path] = {}
    for path in cases:
        known = first.setdefault(_id_in(path) or str(path), path)
        if known != path:
            yield Problem(path=path, what=f"holds the same case as {known.name}")


def _opened_cases(path: Path) -> Iterator[Path]:
    """Yields the case files that a test module opens by a literal name."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="case") | ast.Attribute(attr="case"), args=[ast.Constant(value=str(name)), *_]
            ):
                relative = name if name.endswith(".json") else f"cases/{name}{SUFFIX}"
                yield (path.parent / relative).resolve()
