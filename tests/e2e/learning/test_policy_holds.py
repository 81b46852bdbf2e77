"""The policy holds for runs, sweeps, missions and tasks: refusals name the rule, before anything is paid for."""

import json
from pathlib import Path

import pytest

from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode

MODEL = """\
import pathlib, time

def answer(request):
    with pathlib.Path(__file__).with_name("calls.txt").open("a") as file:
        file.write("call\\n")
    time.sleep(SLEEP)
    return "import socket; socket.create_connection(('127.0.0.1', 9))"
"""
SCENARIO = """\
name: s
proposer: {provider: rules, model: "model.py:answer"}
evaluator: EVALUATOR
cases: cases.json
"""
PYTEST = '{pytest: {test_it.py: "def test_it():\\n    {{ output.text }}"}}'
PREDICATE = '{predicate: "always text:/socket/"}'
SWEEP = "scenario: s\nvariables: {system: [a, b]}\n"
MISSION = """\
name: m
proposer: {provider: rules, model: "scenarios/s/model.py:answer"}
steps:
  - {id: one, task: Do it., verifier: {type: command, command: [grep, -q, socket]}}
  - {id: two, task: Do more., verifier: {type: command, command: [grep, -q, socket]}, depends_on: [one]}
"""
COMMANDS = {
    "run": "run --scenario s",
    "simulate": "simulate --config sweep.yaml",
    "mission": "mission run --mission-file mission.yaml",
    "solve": "solve -d task --predicate always_text:/x/ --model-fn scenarios/s/model.py:answer",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    scenario(tmp_path, PREDICATE)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    (tmp_path / "mission.yaml").write_text(MISSION)
    return tmp_path


def scenario(folder: Path, evaluator: str, *, sleep: float = 0.0) -> None:
    own = folder / "scenarios" / "s"
    own.mkdir(parents=True, exist_ok=True)
    (own / "model.py").write_text(MODEL.replace("SLEEP", str(sleep)))
    (own / "scenario.yaml").write_text(SCENARIO.replace("EVALUATOR", evaluator))
    (own / "cases.json").write_text(json.dumps([{"n": n} for n in range(4)]))


def calls(folder: Path) -> int:
    path = folder / "scenarios" / "s" / "calls.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def run(command: str) -> int:
    return main([word.replace("always_text", "always text") for word in command.split()])


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_provider_that_is_not_allowed_is_never_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (folder / "policy.yaml").write_text("# only our own\nproviders: [ollama]\n")
    assert run(command) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "'rules' is not allowed: policy.yaml:2: providers" in said
    assert "allowed: ollama" in said
    assert calls(folder) == 0


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_option_cannot_ask_for_more_than_the_policy_allows(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (folder / "policy.yaml").write_text("limits: {calls: 10, tokens: 500}\n")
    assert run(f"{command} --budget 11") == ExitCode.USAGE
    assert "11 calls are more than the policy allows: policy.yaml:1: limits.calls: 10" in capsys.readouterr().err
    assert run(f"{command} --max-tokens 501") == ExitCode.USAGE
    assert calls(folder) == 0


@pytest.mark.parametrize("command", [c for n, c in COMMANDS.items() if n != "solve"])
def test_a_limit_of_calls_ends_the_work_and_names_the_rule(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (folder / "policy.yaml").write_text("limits: {calls: 1}\n")
    (folder / "sweep.yaml").write_text(f"{SWEEP}runs_per_combo: 2\n")
    assert run(command if command != COMMANDS["run"] else f"{command} --gens 3") == ExitCode.BUDGET
    assert calls(folder) == 1
    assert "the policy sets it: policy.yaml:1: limits" in capsys.readouterr().err


def test_a_limit_of_seconds_ends_the_work_and_names_the_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario(folder, PREDICATE, sleep=0.4)
    (folder / "policy.yaml").write_text("limits: {seconds: 0.5}\n")
    assert run("run --scenario s --gens 9") == ExitCode.BUDGET
    assert "the time is over: policy.yaml:1: limits.seconds: 0.5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("commands: [ls]\n", "'python' is not allowed: policy.yaml:1: commands"),
        ("executors: [docker]\n", "'local' is not allowed: policy.yaml:1: executors"),
    ],
)
def test_code_of_an_evaluator_runs_only_where_and_how_that_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str], policy: str, said: str
) -> None:
    scenario(folder, PYTEST)
    (folder / "policy.yaml").write_text(policy)
    assert run("run --scenario s") == ExitCode.USAGE
    assert said in capsys.readouterr().err
    assert calls(folder) == 0


def test_a_verifier_starts_no_program_that_is_not_allowed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "policy.yaml").write_text("commands: [python]\n")
    assert run(COMMANDS["mission"]) == ExitCode.USAGE
    assert "'grep' is not allowed: policy.yaml:1: commands" in capsys.readouterr().err
    assert calls(folder) == 0


def test_an_answer_that_breaks_the_policy_is_worth_nothing_and_passes_no_step(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "policy.yaml").write_text('never: ["text:/socket/"]\n')
    assert run(f"{COMMANDS['run']} --json") == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["generations"][0]["score"] == 0.0
    assert run(f"{COMMANDS['mission']} --json") == ExitCode.FINDING
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert (steps[0]["status"], steps[0]["message"]) == ("failed", "the policy forbids it: never text:/socket/")


def test_a_broken_policy_is_reported_before_any_call(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "policy.yaml").write_text("limits:\n  cals: 4\n")
    assert run(COMMANDS["run"]) == ExitCode.BAD_DATA
    said = capsys.readouterr().err
    assert "policy.yaml:2: limits.cals: there is no such field" in said
    assert "did you mean 'calls'?" in said
    assert calls(folder) == 0
