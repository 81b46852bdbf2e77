"""What a command would take is told before it starts, with nothing paid, and what providers there are and cost."""

import json
from pathlib import Path
from typing import Any

import pytest
from backend_server import Answer, Backend, Call

from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode

MISSION = """\
name: m
proposer: {provider: mine, model: m1}
steps:
  - {id: one, task: Do it., retries: 2, verifier: {type: judge, question: Is it done?}}
"""
SETTINGS = '[providers.mine]\nbase_url = "URL/v1"\n[prices]\nm1 = { input = INPUT, output = 0 }\n'


class ChatServer(Backend):
    """Answers every chat request with the same text."""

    def answer(self, call: Call) -> Answer:
        message = {"role": "assistant", "content": "Thank you."}
        usage = {"prompt_tokens": 100, "completion_tokens": 3}
        return Answer(body={"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["scenario", "new", "--template", "support_reply", "--name", "s"]) == ExitCode.OK
    path = tmp_path / "scenarios" / "s" / "scenario.yaml"
    text = path.read_text().replace("provider: rules\n  model: model.py:answer", "provider: mine\n  model: m1")
    path.write_text(text)
    (tmp_path / "mission.yaml").write_text(MISSION)
    (tmp_path / "sweep.yaml").write_text("scenario: s\nruns_per_combo: 3\nvariables: {system: [a, b]}\n")
    return tmp_path


def settings(url: str, price: float) -> None:
    Path("whyspan.toml").write_text(SETTINGS.replace("URL", url).replace("INPUT", str(price)))


def total(capsys: pytest.CaptureFixture[str], command: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*command.split(), "--dry-run", "--json"]) == ExitCode.OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["dry_run"]
    return {**found["total"], "parts": [part["what"] for part in found["parts"]]}


def test_a_dry_run_tells_calls_tokens_and_cost_and_asks_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer().running() as server:
        settings(server.url, 1.0)
        run = total(capsys, "run --scenario s --gens 2 --budget 5000")
        sweep = total(capsys, "simulate --config sweep.yaml")
        mission = total(capsys, "mission run --mission-file mission.yaml")
        solve = total(capsys, "solve -d task --rubric good --provider mine --model m1 --gens 4")
        assert server.calls == []
    assert run["parts"][:2] == ["generations", "judging generations"]
    assert run["parts"][2].startswith("tests of up to 12 lessons")
    assert run["cost_usd"] > 0
    assert (sweep["calls"], mission["calls"], solve["calls"]) == (12, 6, 8)
    assert sweep["input_tokens"] > 0


def test_a_dry_run_stays_within_the_budget(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings("http://127.0.0.1:9", 1.0)
    assert total(capsys, "run --scenario s --budget 50")["calls"] == 50
    assert main(["run", "--scenario", "s", "--budget", "50", "--dry-run"]) == ExitCode.OK
    said = capsys.readouterr().out
    assert "at most 50 model calls" in said
    assert said.endswith("the budget allows 50\n")


def test_what_may_cost_more_than_a_little_is_only_done_when_somebody_agrees(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer().running() as server:
        settings(server.url, 50_000.0)
        for command in ("run --scenario s", "simulate --config sweep.yaml", "mission run --mission-file mission.yaml"):
            assert main(command.split()) == ExitCode.USAGE
            assert "-y goes on" in capsys.readouterr().err
        assert server.calls == []
        assert main(["simulate", "--config", "sweep.yaml", "-y"]) == ExitCode.OK
        assert len(server.calls) > 0


def test_providers_say_what_is_priced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("whyspan.toml").write_text(
        '[providers.mine]\nbase_url = "https://a.example.com/v1"\nmodel = "m1"\n'
        '[providers.other]\nbase_url = "https://b.example.com/v1"\n[prices]\n"m*" = { input = 1, output = 2 }\n'
    )
    assert main(["providers", "--json"]) == ExitCode.OK
    rows = {row["provider"]: row["priced"] for row in json.loads(capsys.readouterr().out)["providers"]}
    named = ("rules", "claude-cli", "openai", "aws.bedrock", "ollama", "mine", "other")
    assert [rows[name] for name in named] == ["free", "no", "listed", "listed", "free", "own price", "no"]
