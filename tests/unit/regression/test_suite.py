from collections.abc import Callable
from pathlib import Path

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.regression.redaction import SECRETS
from whyspan.analysis.regression.suite import check_suite, place_in_suite
from whyspan.analysis.regression.writer import write_test
from whyspan.ingest.errors import FormatError

BuildCase = Callable[..., Case]


def add(folder: Path, case: Case) -> Path:
    path = place_in_suite(folder, case, SECRETS)
    write_test(path, case)
    return path


def whats(folder: Path) -> list[tuple[str, str]]:
    return [(p.path.name, p.what) for p in check_suite(folder).problems]


def test_a_test_is_called_after_the_outcome(tmp_path: Path, case: Case) -> None:
    assert add(tmp_path, case) == tmp_path / "test_forward_email.py"


def test_a_second_case_gets_a_name_of_its_own(tmp_path: Path, case: Case, build_case: BuildCase) -> None:
    add(tmp_path, case)
    assert add(tmp_path, build_case(mail="other")).name == "test_forward_email_2.py"
    assert add(tmp_path, build_case(mail="third")).name == "test_forward_email_3.py"


def test_a_name_that_a_test_of_somebody_else_has_is_left_alone(tmp_path: Path, case: Case) -> None:
    (tmp_path / "test_forward_email.py").write_text("mine")
    assert add(tmp_path, case).name == "test_forward_email_2.py"


def test_a_case_that_is_known_keeps_its_place(tmp_path: Path, case: Case, build_case: BuildCase) -> None:
    secret = build_case(mail="sk-" + "a" * 24)
    first = [add(tmp_path, c) for c in (case, secret)]
    assert [add(tmp_path, c) for c in (case, secret)] == first
    assert check_suite(tmp_path).cases == 2


def test_a_case_that_was_moved_and_renamed_is_found(tmp_path: Path, case: Case) -> None:
    add(tmp_path, case)
    moved = tmp_path / "mail" / "cases"
    moved.mkdir(parents=True)
    (tmp_path / "cases" / "forward_email.case.json").rename(moved / "forwarding.case.json")
    assert place_in_suite(tmp_path, case, SECRETS) == tmp_path / "mail" / "test_forwarding.py"


def test_a_sound_suite_has_no_problems(tmp_path: Path, case: Case, build_case: BuildCase) -> None:
    add(tmp_path, case)
    add(tmp_path, build_case(target="no-tool"))
    state = check_suite(tmp_path)
    assert (state.cases, state.tests, state.problems) == (2, 2, ())


def test_one_case_may_serve_many_tests(tmp_path: Path, case: Case) -> None:
    add(tmp_path, case)
    (tmp_path / "test_more.py").write_text("import whyspan\nwhyspan.case('forward_email').always_calls('x')\n")
    state = check_suite(tmp_path)
    assert (state.cases, state.tests, state.problems) == (1, 2, ())


def test_lost_unused_copied_and_damaged_cases_are_named(tmp_path: Path, case: Case) -> None:
    add(tmp_path, case)
    cases = tmp_path / "cases"
    (cases / "z_copy.case.json").write_text((cases / "forward_email.case.json").read_text())
    (cases / "damaged.case.json").write_text("{")
    (tmp_path / "test_lost.py").write_text("from whyspan import case\ncase('gone').never_happens()\n")
    found = whats(tmp_path)
    assert ("z_copy.case.json", "holds the same case as forward_email.case.json") in found
    assert ("z_copy.case.json", "no test opens it") in found
    assert ("test_lost.py", "opens cases/gone.case.json, which is not there") in found
    assert [name for name, what in found if "cannot be read" in what] == ["damaged.case.json"]


def test_a_test_that_is_no_python_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("def (")
    with pytest.raises(FormatError, match=r"test_broken\.py"):
        check_suite(tmp_path)
