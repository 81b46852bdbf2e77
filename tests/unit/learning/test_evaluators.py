"""Evaluators score what was produced, generated code runs with limits, and a failing evaluator gives no score."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

import pytest
from exchanges import exchange

from whyspan.analysis.learning.play.exchanges import Exchange
from whyspan.analysis.learning.play.players import Player
from whyspan.analysis.learning.scoring.evaluator import Evaluator
from whyspan.analysis.learning.scoring.sandbox import NO_NAMESPACE, Ran, Sandbox, started
from whyspan.analysis.learning.scoring.scores import Score, schema_score
from whyspan.analysis.learning.scoring.spec import read_evaluator
from whyspan.analysis.policy import NO_POLICY, Policy
from whyspan.analysis.yaml_files import read_table
from whyspan.ingest.calls import ModelReply, ToolCall
from whyspan.ingest.errors import FormatError, UpstreamError, UsageError


def score(folder: Path, yaml: str, reply: ModelReply, *, judged: str = "", expect: str = "") -> Score:
    (folder / "scenario.yaml").write_text(f"evaluator: {yaml}\n")

    async def ask(player: Player, text: str) -> Exchange:
        return exchange(judged)

    evaluator = Evaluator(read_evaluator(read_table(folder / "scenario.yaml").table("evaluator")), ask, NO_POLICY)
    return asyncio.run(evaluator.score({"x": 2}, reply, expect))


def test_a_predicate_is_an_event_that_must_or_must_not_come(tmp_path: Path) -> None:
    refunds = ModelReply(tool_calls=(ToolCall(name="refund", arguments="{}"),))
    yaml = '{predicate: "never tool:refund"}'
    assert score(tmp_path, yaml, refunds).score == 0.0
    assert score(tmp_path, yaml, ModelReply(text="no")).score == 1.0
    assert score(tmp_path, yaml, refunds, expect="always tool:refund").score == 1.0


def test_a_function_gets_input_output_and_a_sandbox(tmp_path: Path) -> None:
    (tmp_path / "ev.py").write_text(
        "def check(run_input, run_output, context):\n"
        "    ran = context.run(['python', 'a.py'], {'a.py': run_output['text']})\n"
        "    right = ran.stdout.strip() == str(run_input['x'])\n"
        "    return {'score': float(right), 'feedback': ['f'], 'metrics': {'n': 1}}\n"
    )
    yaml = "{module: ev, function: check}"
    assert score(tmp_path, yaml, ModelReply(text="print(2)")) == Score(score=1.0, feedback=("f",), metrics={"n": 1})
    assert score(tmp_path, yaml, ModelReply(text="print(3)")).score == 0.0


@pytest.mark.parametrize(
    "returned", ["{'score': 2}", "None", "{'score': True}", "1 / 0", "{'score': 1, 'feedback': 'x'}"]
)
def test_a_function_that_fails_or_gives_no_score_is_an_error(tmp_path: Path, returned: str) -> None:
    (tmp_path / "ev.py").write_text(f"def evaluate(run_input, run_output, context):\n    return {returned}\n")
    with pytest.raises(FormatError, match=r"scenario\.yaml: evaluator"):
        score(tmp_path, "{module: ev}", ModelReply(text=""))


def test_a_command_reads_json_and_prints_a_score(tmp_path: Path) -> None:
    (tmp_path / "ev.py").write_text(
        "import json, sys\nv = json.load(sys.stdin)\nprint(json.dumps({'score': len(v['output']['text']) / 10}))\n"
    )
    assert score(tmp_path, "{command: [python, ev.py]}", ModelReply(text="12345")).score == 0.5
    with pytest.raises(FormatError, match="failed"):
        score(tmp_path, "{command: [python, nothing.py]}", ModelReply(text=""))


def test_pytest_scores_the_share_of_tests_that_pass(tmp_path: Path) -> None:
    yaml = '{pytest: {test_it.py: "{{ output.text }}"}}'
    code = "def test_a():\n    assert True\n\n\ndef test_b():\n    assert 1 == 2\n"
    found = score(tmp_path, yaml, ModelReply(text=code))
    assert (found.score, found.metrics["tests"]) == (0.5, 2)
    assert found.feedback == ("assert 1 == 2",)


@pytest.mark.parametrize(
    ("text", "feedback"),
    [
        ("five", "answer with JSON and nothing else"),
        ('{"n": "5"}', "in the JSON of the answer, $.n: '5' is not of type 'integer'"),
    ],
)
def test_an_answer_that_breaks_the_output_schema_is_worth_nothing(text: str, feedback: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert schema_score(schema, text) == Score(score=0.0, feedback=(feedback,))
    assert schema_score(schema, '{"n": 5}') is None


def test_a_judge_scores_by_a_rubric(tmp_path: Path) -> None:
    yaml = "{judge: {provider: rules, model: 'm.py:f'}, rubric: be kind}"
    said = 'Sure:\n{"score": 0.7, "feedback": ["thank them"]}'
    found = score(tmp_path, yaml, ModelReply(text="hi"), judged=said)
    assert (found.score, found.feedback) == (0.7, ("thank them",))
    assert [call.text for call in found.judged] == [said]
    with pytest.raises(UpstreamError, match="gave no score"):
        score(tmp_path, yaml, ModelReply(text="hi"), judged="very good")


def test_code_that_does_not_end_is_killed_with_its_children() -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    ran = Sandbox(timeout_s=1.0).run(["python", "a.py"], {"a.py": code})
    assert ran.timed_out


def test_code_cannot_take_all_memory() -> None:
    ran = Sandbox(memory_mb=256).run(["python", "-c", "x = bytearray(2**30)"], {})
    assert ran.exit_code != 0
    assert "MemoryError" in ran.stderr


def test_code_sees_no_secrets_and_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    ran = Sandbox().run(["python", "-c", "import os, json; print(json.dumps([dict(os.environ), os.getcwd()]))"], {})
    environ, folder = json.loads(ran.stdout)
    assert "OPENAI_API_KEY" not in environ
    assert environ["HOME"] == folder
    assert not os.path.exists(folder)


def test_files_stay_in_the_scratch_folder() -> None:
    with pytest.raises(UsageError, match="outside"):
        Sandbox().run(["python", "-V"], {"../a.py": ""})


WRAPPING = "import os, sys; print(sys.argv[1], file=sys.stderr); os.execvp(sys.argv[2], sys.argv[2:])"


def test_a_wrapping_command_gets_the_folder() -> None:
    wrap = (sys.executable, "-c", WRAPPING, "{folder}")
    ran = Sandbox(wrap=wrap).run(["cat", "a.txt"], {"a.txt": "here"})
    assert ran.stdout == "here"
    assert "whyspan-" in ran.stderr


def test_an_executor_that_does_not_work_is_no_code_that_failed(tmp_path: Path) -> None:
    broken = (sys.executable, "-c", "import sys; sys.exit('Cannot connect to the daemon')")
    with pytest.raises(UsageError, match="does not run commands: Cannot connect to the daemon"):
        Sandbox(wrap=broken).run(["python", "a.py"], {})
    with pytest.raises(UsageError, match="nosuchprogram"):
        Sandbox(remote=("nosuchprogram",)).run(["python", "a.py"], {})
    yaml = f"{{command: [python, a.py], sandbox: {{wrap: {json.dumps(broken)}}}}}"
    with pytest.raises(UsageError, match="does not run commands"):
        score(tmp_path, yaml, ModelReply(text=""))


def test_without_a_network_code_reaches_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        argv = ["python", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port})); print('reached')"]
        assert Sandbox().run(argv, {}).stdout == "reached\n"
        ran = Sandbox(policy=Policy(network=False)).run(argv, {})
    assert ran.exit_code != 0
    assert "reached" not in ran.stdout


def test_code_that_could_not_be_cut_off_was_not_run() -> None:
    with pytest.raises(UsageError, match="no network namespace"):
        started(Ran(exit_code=1, stdout="", stderr=f"{NO_NAMESPACE}\n"))
    failed = Ran(exit_code=1, stdout="", stderr="Traceback …")
    assert started(failed) is failed


def test_a_wrapping_command_needs_to_say_that_it_has_no_network() -> None:
    policy = Policy(network=False)
    with pytest.raises(UsageError, match="network: false"):
        Sandbox(wrap=("docker", "run", "python:3.12"), policy=policy).check(["python"])
    Sandbox(wrap=("docker", "run", "--network=none", "python:3.12"), policy=policy).check(["python"])


def test_code_runs_on_another_machine_with_its_files_and_leaves_nothing_there() -> None:
    shell = ("sh", "-c")
    ran = Sandbox(remote=shell).run(
        ["sh", "-c", "pwd && cat in/a.txt -", "ignored"], {"in/a.txt": "file "}, stdin="input"
    )
    folder, said = ran.stdout.splitlines()
    assert said == "file input"
    assert not os.path.exists(folder)
    assert Sandbox(remote=shell).run(["sh", "-c", "exit 3"], {}).exit_code == 3
