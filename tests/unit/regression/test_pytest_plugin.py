"""The plugin as a user's pytest sees it: each test here runs pytest in a project of its own."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import whyspan.analysis.regression.api  # noqa: F401 (else each of the runs below imports NumPy and SciPy anew)
from whyspan.analysis.cases import Case
from whyspan.analysis.fixes.verify import Measured
from whyspan.analysis.regression.case_file import read_case_file
from whyspan.analysis.regression.writer import write_test

pytest_plugins = ["pytester"]

MODEL = '''
"""Forwards mail unless a rule forbids it; every 40th reply does so anyway."""
import itertools

_count = itertools.count(1)


def model(request):
    system = request["messages"][0]["content"]
    forwards = "Never forward" not in system or next(_count) % 40 == 0
    if not forwards:
        return "Here is a summary."
    call = {"id": "c", "type": "function", "function": {"name": "forward_email", "arguments": '{"to": "x@y.example"}'}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
'''
LIVE = ("--whyspan-mode", "live", "--whyspan-model-fn", "model.py:model")
REFRESH = ("--whyspan-mode", "refresh", "--whyspan-model-fn", "model.py:model")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WHYSPAN_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    # Other plugins of this environment are imported anew by each run, which takes seconds.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "whyspan.analysis.regression.pytest_plugin")
    (pytester.path / "model.py").write_text(MODEL)
    return pytester


@pytest.fixture
def failing(project: pytest.Pytester, case: Case) -> pytest.Pytester:
    """A project with a test whose prompt has no fix."""
    write_test(project.path / "test_inbox.py", case)
    return project


@pytest.fixture
def fixed(project: pytest.Pytester, case: Case, build_fix: Callable[..., Measured]) -> pytest.Pytester:
    """A project with a test whose prompt has a verified fix."""
    write_test(project.path / "test_inbox.py", case, fix=build_fix(case))
    return project


def edit(project: pytest.Pytester, old: str, new: str) -> None:
    path = project.path / "test_inbox.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def output(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)


def test_the_test_of_a_failure_fails_live_and_says_why(failing: pytest.Pytester) -> None:
    result = failing.runpytest(*LIVE)
    result.assert_outcomes(failed=1)
    text = output(result)
    assert "expected: never calls forward_email" in text
    assert "8 of 8 replays went against it (95 % interval" in text
    assert f"whyspan why {'ab' * 6} span:{'cd' * 4}" in text


def test_the_test_of_a_fix_passes_live(fixed: pytest.Pytester) -> None:
    fixed.runpytest(*LIVE).assert_outcomes(passed=1)


def test_without_a_key_a_verified_fix_passes_and_asks_nobody(fixed: pytest.Pytester) -> None:
    (fixed.path / "model.py").unlink()
    fixed.runpytest().assert_outcomes(passed=1)


def test_without_a_key_a_test_that_was_never_verified_fails(failing: pytest.Pytester) -> None:
    result = failing.runpytest()
    result.assert_outcomes(failed=1)
    assert "nothing is verified yet" in output(result)
    assert "--whyspan-mode refresh" in output(result)


def test_a_changed_prompt_is_stale_and_shows_the_change(fixed: pytest.Pytester) -> None:
    edit(fixed, "Be brief.", "Be very brief.")
    result = fixed.runpytest()
    result.assert_outcomes(failed=1)
    text = output(result)
    assert "stale: the request is not the one" in text
    assert "-Be brief." in text
    assert "+Be very brief." in text


def test_a_stale_test_passes_again_after_a_refresh(fixed: pytest.Pytester) -> None:
    edit(fixed, "Be brief.", "Be very brief.")
    fixed.runpytest(*REFRESH).assert_outcomes(passed=1)
    fixed.runpytest().assert_outcomes(passed=1)


def test_the_prompt_verified_before_still_passes_after_a_refresh(fixed: pytest.Pytester) -> None:
    edit(fixed, "Be brief.", "Be very brief.")
    fixed.runpytest(*REFRESH).assert_outcomes(passed=1)
    edit(fixed, "Be very brief.", "Be brief.")
    fixed.runpytest().assert_outcomes(passed=1)


def test_a_refresh_that_fails_takes_back_what_was_verified(fixed: pytest.Pytester) -> None:
    always = MODEL.replace('"Never forward" not in system', "True")
    (fixed.path / "model.py").write_text(always)
    fixed.runpytest(*REFRESH).assert_outcomes(failed=1)
    assert read_case_file(fixed.path / "cases" / "inbox.case.json").verified == ()


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ('.with_model("m-2")', '+model: "m-2"'),
        (".with_tools([])", "+tools: []"),
        ('.with_rule("Be kind.")', "+Be kind."),
    ],
)
def test_other_changes_of_the_request_are_stale_too(fixed: pytest.Pytester, change: str, shown: str) -> None:
    edit(fixed, ".with_system(SYSTEM)", f".with_system(SYSTEM){change}")
    result = fixed.runpytest()
    result.assert_outcomes(failed=1)
    assert shown in output(result)


def test_asking_for_more_than_was_verified_says_so(fixed: pytest.Pytester) -> None:
    edit(fixed, "max_rate=0.05", "max_rate=0.01")
    result = fixed.runpytest()
    result.assert_outcomes(failed=1)
    assert "at a rate of 0.01; it was shown for 0.05" in output(result)


def test_asking_for_less_than_was_verified_passes(fixed: pytest.Pytester) -> None:
    edit(fixed, "max_rate=0.05", "max_rate=0.2")
    fixed.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("policy", "outcome"), [("fail", {"failed": 1}), ("skip", {"skipped": 1}), ("warn", {"passed": 1, "warnings": 1})]
)
def test_a_budget_that_ends_too_early_is_inconclusive(
    fixed: pytest.Pytester, policy: str, outcome: dict[str, int]
) -> None:
    result = fixed.runpytest(*LIVE, "--whyspan-budget", "6", "--whyspan-inconclusive", policy, "-rs", "-Wdefault")
    result.assert_outcomes(**outcome)
    assert "inconclusive: 6 replays did not make it clear" in output(result)


def test_the_marker_overrides_the_command_line(fixed: pytest.Pytester) -> None:
    edit(fixed, "@pytest.mark.whyspan", "@pytest.mark.whyspan(budget=6, inconclusive='skip')")
    fixed.runpytest(*LIVE).assert_outcomes(skipped=1)


@pytest.mark.parametrize("arguments", ["bugdet=6", "mode='nonsense'", "'live'"])
def test_a_wrong_marker_is_named(fixed: pytest.Pytester, arguments: str) -> None:
    edit(fixed, "@pytest.mark.whyspan", f"@pytest.mark.whyspan({arguments})")
    result = fixed.runpytest()
    assert result.ret != 0
    assert "marker whyspan" in output(result) + "\n".join(result.errlines)


def test_the_marker_selects_our_tests_in_a_strict_project(fixed: pytest.Pytester) -> None:
    fixed.makepyfile(test_other="def test_other() -> None: pass")
    fixed.runpytest("--strict-markers", "-m", "whyspan").assert_outcomes(passed=1, deselected=1)


def test_the_report_has_the_figures(fixed: pytest.Pytester) -> None:
    fixed.runpytest(*LIVE, "--junitxml", "junit.xml").assert_outcomes(passed=1)
    found = {p.attrib["name"]: p.attrib["value"] for p in ElementTree.parse(fixed.path / "junit.xml").iter("property")}
    assert found["whyspan.assertion"] == "never calls forward_email"
    assert found["whyspan.status"] == "passed"
    assert (found["whyspan.hits"], found["whyspan.draws"]) == ("0", "16")
    assert float(found["whyspan.e_compliance"]) >= 20
    assert re.fullmatch(r"0\.000 to 0\.\d+", found["whyspan.interval"])


def test_several_assertions_may_share_a_case(fixed: pytest.Pytester) -> None:
    fixed.makepyfile(
        test_more=(
            "from whyspan import case\n"
            "def test_a(): case('inbox').with_rule('Never forward.').never_matches('(?i)invoice')\n"
            "def test_b(): case('inbox').with_rule('Never forward.').calls_matching(\"forward_email[to~'example$']\")\n"
            "def test_c(): case('inbox').always_calls('forward_email')\n"
            "def test_d(): case('inbox').with_rule('Never forward.').never_happens()\n"
        )
    )
    fixed.runpytest(*REFRESH).assert_outcomes(passed=5)
    fixed.runpytest().assert_outcomes(passed=5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("never_calls('x[')", "the event is wrong"),
        ("calls_matching('pay')", "has no conditions"),
        ("never_calls('pay', max_rate=5)", "max_rate must lie between 0 and 1"),
        ("always_calls('pay', min_rate=1)", "min_rate must lie between 0 and 1"),
        ("never_matches('(')", "not a regular expression"),
    ],
)
def test_a_wrong_assertion_says_what_is_wrong(fixed: pytest.Pytester, call: str, message: str) -> None:
    fixed.makepyfile(test_wrong=f"from whyspan import case\ndef test_x(): case('inbox').{call}\n")
    result = fixed.runpytest("test_wrong.py")
    result.assert_outcomes(failed=1)
    assert message in output(result)


def test_a_missing_case_is_named_with_a_hint(project: pytest.Pytester) -> None:
    project.makepyfile("from whyspan import case\ndef test_x(): case('nothing')\n")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    assert "there is no case file" in output(result)
    assert "hint: `whyspan test RUN EVENT` writes one" in output(result)


def test_a_prompt_file_is_followed(fixed: pytest.Pytester) -> None:
    (fixed.path / "prompt.md").write_text("You are new.\nNever forward mail.")
    edit(fixed, "with_system(SYSTEM)", "with_system(Path('prompt.md'))")
    edit(fixed, "import pytest", "from pathlib import Path\n\nimport pytest")
    fixed.runpytest(*REFRESH).assert_outcomes(passed=1)
    fixed.runpytest().assert_outcomes(passed=1)
    (fixed.path / "prompt.md").write_text("You are newer.\nNever forward mail.")
    result = fixed.runpytest()
    result.assert_outcomes(failed=1)
    assert "+You are newer." in output(result)


def test_live_mode_without_a_model_says_what_to_give(fixed: pytest.Pytester) -> None:
    result = fixed.runpytest("--whyspan-mode", "live")
    result.assert_outcomes(failed=1)
    assert "no model" in output(result) or "where replays go" in output(result)


def test_workers_of_xdist_refresh_one_case_file_together(
    project: pytest.Pytester, case: Case, build_fix: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = ("xdist.plugin", "whyspan.analysis.regression.pytest_plugin", "whyspan.cli.report.pytest_report")
    monkeypatch.setenv("PYTEST_PLUGINS", ",".join(plugins))
    write_test(project.path / "test_inbox.py", case, fix=build_fix(case))
    body = "\n".join(
        f"def test_{n}(): case('inbox').with_rule('Never forward. {n}').never_calls('forward_email')" for n in range(6)
    )
    project.makepyfile(test_many=f"from whyspan import case\n{body}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *REFRESH]
    command += ["--junitxml=j.xml", "--whyspan-report=out"]
    done = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(read_case_file(project.path / "cases" / "inbox.case.json").verified) == 7
    assert (project.path / "j.xml").read_text().count("whyspan.draws") == 7
    assert len(json.loads((project.path / "out" / "claims.json").read_text())["tests"]) == 7


def test_a_terminal_shows_progress_and_is_left_clean(fixed: pytest.Pytester) -> None:
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *LIVE]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, cwd=fixed.path, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = b"".join(iter(lambda: _read(screen), b"")).decode()
    os.close(screen)
    assert process.returncode == 0, shown
    assert "\rinbox never calls forward_email: 8 of about 16 replays, 0 against it" in shown
    last = next(line for line in shown.split("\n") if "100%" in line)
    assert last.startswith("test_inbox.py ")
    assert "replays" not in last


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 4096)
    except OSError:  # the other side is closed
        return b""


def test_a_project_without_our_tests_loads_nothing_heavy() -> None:
    code = (
        "import sys; import whyspan.analysis.regression.pytest_plugin; "
        "heavy = {'httpx', 'duckdb', 'scipy', 'numpy', 'pyarrow', 'grpc', 'jinja2', 'orjson', 'py3langid'}; "
        "print(sorted(heavy & {m.partition('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.replace("'", '"')) == []


def test_the_folder_of_the_test_decides_where_cases_are(fixed: pytest.Pytester) -> None:
    sub = fixed.path / "deep" / "er"
    sub.mkdir(parents=True)
    for name in ("test_inbox.py", "cases"):
        (fixed.path / name).rename(sub / name)
    fixed.runpytest().assert_outcomes(passed=1)
    assert Path.cwd() == fixed.path
