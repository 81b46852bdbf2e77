import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.regression.case_file import (
    KEPT_VERIFICATIONS,
    CaseFile,
    Verified,
    read_case_file,
    update_case_file,
    write_case_file,
)
from whyspan.ingest.errors import FormatError, NotFoundError, WhyspanError


def make_verified(**over: Any) -> Verified:
    known = Verified(
        assertion="never calls forward_email", max_rate=0.05, request="0" * 64, system="s", settings=None,
        hits=0, draws=24, model="m", verified_at="2026-01-01T00:00:00+00:00", verified_with="0.1.0",
    )  # fmt: skip
    return replace(known, **over)


def document(tmp_path: Path, case: Case) -> dict[str, Any]:
    path = tmp_path / "x.case.json"
    write_case_file(path, CaseFile(case=case, verified=(make_verified(),)))
    value: dict[str, Any] = json.loads(path.read_text())
    return value


def read(tmp_path: Path, value: Any) -> CaseFile:
    path = tmp_path / "x.case.json"
    path.write_text(json.dumps(value))
    return read_case_file(path)


def test_a_case_file_reads_back_as_it_was_written(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "cases" / "x.case.json"
    content = CaseFile(
        case=case, verified=(make_verified(settings={"model": "other"}),), claims=({"id": "1"},), created_with="w",
        created_at="2026-01-01T00:00:00+00:00", redacted={"API key": 2}, tests={"test_x.py": "f" * 64},
    )  # fmt: skip
    write_case_file(path, content)
    assert read_case_file(path) == content


def test_a_case_file_is_written_the_same_twice(tmp_path: Path, case: Case) -> None:
    for name in ("a", "b"):
        write_case_file(tmp_path / name, CaseFile(case=case))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("name", ["case", "verified", "claims", "created_with", "created_at", "redacted", "tests"])
def test_a_missing_field_is_named(tmp_path: Path, case: Case, name: str) -> None:
    value = document(tmp_path, case)
    del value[name]
    with pytest.raises(FormatError, match=f"x.case.json: the field '{name}' is missing"):
        read(tmp_path, value)


@pytest.mark.parametrize("name", ["case", "verified", "claims", "created_with", "redacted", "tests"])
def test_a_field_of_the_wrong_kind_is_named(tmp_path: Path, case: Case, name: str) -> None:
    value = {**document(tmp_path, case), name: 7}
    with pytest.raises(FormatError, match=f"the field '{name}' holds 7"):
        read(tmp_path, value)


@pytest.mark.parametrize("name", ["api", "target", "request", "origin"])
def test_a_missing_field_of_the_case_is_named(tmp_path: Path, case: Case, name: str) -> None:
    value = document(tmp_path, case)
    del value["case"][name]
    with pytest.raises(FormatError, match=f"x.case.json: the case has no field '{name}'"):
        read(tmp_path, value)


def test_a_wrong_verification_is_named(tmp_path: Path, case: Case) -> None:
    value = document(tmp_path, case)
    value["verified"][0]["surprise"] = 1
    del value["verified"][0]["draws"]
    with pytest.raises(FormatError, match=r"verified\[0\].*draws, surprise"):
        read(tmp_path, value)


def test_an_event_that_cannot_be_parsed_says_so(tmp_path: Path, case: Case) -> None:
    value = document(tmp_path, case)
    value["case"]["target"] = "nonsense"
    with pytest.raises(WhyspanError, match="'nonsense' is not an event"):
        read(tmp_path, value)


def test_another_schema_version_is_refused(tmp_path: Path, case: Case) -> None:
    with pytest.raises(FormatError, match="schema version 1"):
        read(tmp_path, {**document(tmp_path, case), "schema_version": 2})


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.case.json").write_text("{")
    with pytest.raises(FormatError, match=r"x\.case\.json cannot be read"):
        read_case_file(tmp_path / "x.case.json")


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        read_case_file(tmp_path / "x.case.json")
    assert caught.value.hint is not None
    assert "whyspan test" in caught.value.hint


def test_verifying_a_request_again_replaces_what_was_known(case: Case) -> None:
    content = CaseFile(case=case).with_verified(make_verified(draws=16)).with_verified(make_verified(draws=32))
    assert [v.draws for v in content.verified] == [32]


def test_old_verifications_of_an_assertion_make_way_and_others_stay(case: Case) -> None:
    content = CaseFile(case=case).with_verified(make_verified(assertion="never calls pay"))
    for n in range(KEPT_VERIFICATIONS + 3):
        content = content.with_verified(make_verified(request=f"{n:064x}"))
    ours = [v for v in content.verified if v.assertion == "never calls forward_email"]
    assert [int(v.request, 16) for v in ours] == list(range(3, KEPT_VERIFICATIONS + 3))
    assert len(content.verified) == KEPT_VERIFICATIONS + 1


def test_what_no_longer_holds_is_taken_out(case: Case) -> None:
    content = CaseFile(case=case, verified=(make_verified(), make_verified(request="1" * 64)))
    assert [v.request for v in content.without_verified("never calls forward_email", "0" * 64).verified] == ["1" * 64]


def test_an_update_leaves_nothing_but_the_case_file(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "x.case.json"
    write_case_file(path, CaseFile(case=case))
    update_case_file(path, lambda f: replace(f, created_with="changed"))
    assert read_case_file(path).created_with == "changed"
    assert list(tmp_path.iterdir()) == [path]
