import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whyspan.analysis.canonical import digest
from whyspan.analysis.cases import Case
from whyspan.analysis.fields import system_prompt
from whyspan.analysis.fixes.verify import Measured
from whyspan.analysis.interventions import InsertRule, SwapModel, SystemPrompt
from whyspan.analysis.regression.api import case as open_case
from whyspan.analysis.regression.case_file import read_case_file
from whyspan.analysis.regression.options import Mode, RunOptions, use_options
from whyspan.analysis.regression.writer import write_test
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api
from whyspan.ingest.errors import UsageError

BuildCase = Callable[..., Case]
BuildFix = Callable[..., Measured]


def system_in(path: Path) -> str:
    """The value of SYSTEM in a written test."""
    tree = ast.parse(path.read_text("utf-8"))
    values = [ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign)]
    assert len(values) == 1
    return str(values[0])


def test_the_case_lies_beside_the_test(tmp_path: Path, case: Case) -> None:
    written = write_test(tmp_path / "tests" / "test_inbox.py", case)
    assert written.case == tmp_path / "tests" / "cases" / "inbox.case.json"
    assert read_case_file(written.case).case == case


def test_provenance_is_kept(tmp_path: Path, case: Case) -> None:
    written = write_test(tmp_path / "test_inbox.py", case)
    file = read_case_file(written.case)
    assert file.case.origin == case.origin
    assert file.created_with.startswith("whyspan ")
    assert file.created_at.endswith("+00:00")
    text = written.test.read_text()
    for part in (case.origin.trace_id, case.origin.span_id, "2026-02-02", "m-1"):
        assert part in text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(prompt=st.text(max_size=300))
def test_any_prompt_becomes_valid_python_that_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, build_case: BuildCase, prompt: str
) -> None:
    case = build_case(system=prompt or "x")
    written = write_test(tmp_path_factory.mktemp("t") / "test_any.py", case)
    assert system_in(written.test) == system_prompt(case.api, case.request)


@pytest.mark.parametrize("title", ['a """ quote', "a back\\slash", 'ends with "'])
def test_a_title_cannot_break_out_of_the_docstring(tmp_path: Path, case: Case, build_fix: BuildFix, title: str) -> None:
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case, title=title))
    ast.parse(written.test.read_text())


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("tool:forward_email", 'never_calls("forward_email", max_rate=0.05)'),
        ("tool:forward_email[to~'@evil']", "never_calls(\"forward_email[to~'@evil']\", max_rate=0.05)"),
        ("text:/a'b/", 'never_matches("a\'b", max_rate=0.05)'),
        ("no-tool", "never_happens(max_rate=0.05)"),
        ('calls:[["pay", {"n": 1}]]', "never_happens(max_rate=0.05)"),
    ],
)
def test_every_kind_of_outcome_has_its_assertion(tmp_path: Path, build_case: BuildCase, target: str, call: str) -> None:
    written = write_test(tmp_path / "test_x.py", build_case(target=target))
    assert call in written.test.read_text()


def test_a_fix_is_in_the_prompt_and_verified(tmp_path: Path, case: Case, build_fix: BuildFix) -> None:
    fix = build_fix(case)
    written = write_test(tmp_path / "test_inbox.py", case, fix=fix)
    fixed = fix.candidate.intervention.apply(case)
    assert system_in(written.test) == system_prompt(fixed.api, fixed.request)
    (verified,) = read_case_file(written.case).verified
    assert verified.request == digest(fixed.request)
    assert (verified.hits, verified.draws, verified.max_rate) == (0, 24, 0.05)
    assert written.is_verified


@pytest.mark.parametrize(("hits", "draws", "max_rate"), [(0, 24, 0.05), (0, 8, 0.1), (1, 24, 0.1), (9, 48, 0.2)])
def test_the_rate_allowed_is_the_smallest_that_the_replays_have_shown(
    tmp_path: Path, case: Case, build_fix: BuildFix, hits: int, draws: int, max_rate: float
) -> None:
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case, hits=hits, draws=draws))
    assert f"max_rate={max_rate})" in written.test.read_text()
    assert read_case_file(written.case).verified[0].max_rate == max_rate


def test_a_fix_that_leaks_is_not_called_verified(tmp_path: Path, case: Case, build_fix: BuildFix) -> None:
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case, hits=20, draws=48))
    assert not written.is_verified
    assert read_case_file(written.case).verified == ()
    assert "Not verified" in written.test.read_text()


def test_a_redacted_case_has_to_be_verified_anew(tmp_path: Path, build_case: BuildCase, build_fix: BuildFix) -> None:
    case = build_case(mail="key sk-" + "a" * 24)
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case))
    assert not written.is_verified
    assert "sk-aaaa" not in written.case.read_text() + written.test.read_text()
    assert written.review.redacted == {"API key": 1}


def test_a_whole_prompt_is_a_fix_that_a_test_can_carry(tmp_path: Path, case: Case, build_fix: BuildFix) -> None:
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case, intervention=SystemPrompt("New.\nPrompt.")))
    assert system_in(written.test) == "New.\nPrompt."


def test_a_change_outside_the_prompt_is_refused(tmp_path: Path, case: Case, build_fix: BuildFix) -> None:
    with pytest.raises(UsageError, match="no change of the system prompt"):
        write_test(tmp_path / "test_x.py", case, fix=build_fix(case, intervention=SwapModel("m-2")))
    assert not list(tmp_path.iterdir())


def test_a_test_is_written_again_over_itself(tmp_path: Path, case: Case, build_fix: BuildFix) -> None:
    path = tmp_path / "test_inbox.py"
    write_test(path, case)
    write_test(path, case, fix=build_fix(case))
    assert len(read_case_file(tmp_path / "cases" / "inbox.case.json").verified) == 1


def test_an_edited_test_is_never_overwritten(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "test_inbox.py"
    write_test(path, case)
    path.write_text(path.read_text() + "\n# mine\n")
    with pytest.raises(UsageError, match="not as whyspan wrote it"):
        write_test(path, case)
    assert path.read_text().endswith("# mine\n")


def test_a_file_of_somebody_else_is_never_overwritten(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "test_inbox.py"
    path.write_text("mine")
    with pytest.raises(UsageError):
        write_test(path, case)
    assert path.read_text() == "mine"
    assert not (tmp_path / "cases").exists()


def test_another_case_of_the_same_name_is_never_overwritten(tmp_path: Path, case: Case, build_case: BuildCase) -> None:
    write_test(tmp_path / "test_inbox.py", case)
    with pytest.raises(UsageError, match="holds another case"):
        write_test(tmp_path / "test_inbox.py", build_case(mail="Something else."))


@pytest.mark.parametrize("name", ["inbox.py", "test_inbox.txt", "inbox_test.py"])
def test_a_name_that_pytest_would_not_find_is_refused(tmp_path: Path, case: Case, name: str) -> None:
    with pytest.raises(UsageError, match="pytest would not find"):
        write_test(tmp_path / name, case)


def test_a_rule_with_any_text_is_carried(tmp_path: Path, case: Case, build_fix: BuildFix) -> None:
    rule = 'Sage "nein".\n\tUnd """ auch \\n 送金しない'
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case, intervention=InsertRule(rule)))
    assert system_in(written.test).endswith(rule)


BODIES: dict[Api, dict[str, Any]] = {
    Api.OPENAI_CHAT: {"messages": [{"role": "developer", "content": "Help."}, {"role": "user", "content": "Hi."}]},
    Api.OPENAI_RESPONSES: {"instructions": "Help.", "input": [{"role": "user", "content": "Hi."}]},
    Api.ANTHROPIC_MESSAGES: {
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Help."}, {"type": "text", "text": "Be kind."}],
        "messages": [{"role": "user", "content": "Hi."}],
    },
    Api.GEMINI_GENERATE: {
        "systemInstruction": {"parts": [{"text": "Help."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi."}]}],
    },
    Api.BEDROCK_CONVERSE: {"system": [{"text": "Help."}], "messages": [{"role": "user", "content": [{"text": "Hi."}]}]},
    Api.OLLAMA_CHAT: {"messages": [{"role": "system", "content": "Help."}, {"role": "user", "content": "Hi."}]},
}


def run_recorded_in(folder: Path) -> None:
    """Has the rest of the test check in recorded mode, with the cases of a folder."""
    use_options(RunOptions(mode=Mode.RECORDED, directory=folder))


@pytest.mark.parametrize("api", BODIES)
def test_a_fix_is_verified_in_the_form_of_every_api(tmp_path: Path, build_fix: BuildFix, api: Api) -> None:
    case = Case(api=api, request={"model": "m", **BODIES[api]}, target=parse_target("tool:forward_email"))
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case))
    prompt = system_in(written.test)
    run_recorded_in(tmp_path)
    assert prompt.startswith("Help.")
    open_case("x").with_system(prompt).never_calls("forward_email")
    with pytest.raises(AssertionError, match="stale"):
        open_case("x").with_system(prompt + " More.").never_calls("forward_email")


def test_a_run_without_a_system_prompt_has_none_in_its_test(tmp_path: Path, build_fix: BuildFix) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
    case = Case(api=Api.OPENAI_CHAT, request=body, target=parse_target("tool:forward_email"))
    text = write_test(tmp_path / "test_x.py", case).test.read_text()
    ast.parse(text)
    assert "SYSTEM" not in text
    written = write_test(tmp_path / "test_x.py", case, fix=build_fix(case))
    run_recorded_in(tmp_path)
    open_case("x").with_system(system_in(written.test)).never_calls("forward_email")
