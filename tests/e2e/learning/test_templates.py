"""Every shipped template runs at once, offline: environments are played turn by turn, planted causes are found."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whyspan.analysis.learning.scenarios.creation import TEMPLATES
from whyspan.cli.main import main
from whyspan.ingest.errors import ExitCode


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(capsys: pytest.CaptureFixture[str], command: str, code: int = ExitCode.OK) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*command.split(), "--json"]) == code, command
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def learn(capsys: pytest.CaptureFixture[str], template: str) -> dict[str, Any]:
    document(capsys, f"scenario new --template {template} --name mine")
    return document(capsys, "run --scenario mine --gens 2")


def test_a_negotiation_is_played_in_turns_and_learned(capsys: pytest.CaptureFixture[str]) -> None:
    run = learn(capsys, "negotiation")
    assert [round(g["score"], 1) for g in run["generations"]] == [0.0, 0.7]
    assert [p["decision"] for p in run["proposals"]] == ["admitted", "inconclusive"]
    assert main(["calls", "last", "--json"]) == ExitCode.OK
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [m["role"] for m in second["request"]["messages"]] == ["system", "user", "assistant", "user"]
    assert second["request"]["messages"][2]["content"].startswith("I offer")
    assert {first["completeness"]["grade"], second["completeness"]["grade"]} == {"exact"}
    words = "export-training-data --scenario mine --min-score 0.5 --format dpo --output dpo.jsonl"
    document(capsys, words)
    pairs = [json.loads(line) for line in Path("dpo.jsonl").read_text().splitlines()]
    assert pairs
    assert all(p["chosen"][0]["content"].startswith("I offer") for p in pairs)
    assert all(p["rejected"][0]["content"].startswith("I accept") for p in pairs)


def test_agents_that_coordinate_see_their_own_messages_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run = learn(capsys, "coordination")
    assert [g["score"] for g in run["generations"]] == [0.0, 1.0]
    main(["calls", "last", "--json"])
    ana, ben = (json.loads(line)["request"]["messages"] for line in capsys.readouterr().out.splitlines())
    assert [m["role"] for m in ben] == ["system", "user"]
    assert "Your colleague says" not in ana[-1]["content"]
    assert "Your colleague says: I could do" in ben[-1]["content"]


def test_planted_causes_are_found_with_enough_replays(capsys: pytest.CaptureFixture[str]) -> None:
    document(capsys, "scenario new --template investigation --name mine")
    result = document(capsys, "simulate --config scenarios/mine/sweep.yaml")
    found = {c["variables"]["parameters.budget"]: c["mean"] for c in result["combinations"]}
    assert found[200] == 1.0
    assert found[20] < found[200]
    words = "simulate --config scenarios/mine/sweep.yaml --base-url http://127.0.0.1:9"
    assert main(words.split()) == ExitCode.USAGE
    assert "investigates a function" in capsys.readouterr().err


def test_the_shipped_causes_are_those_that_the_generator_plants() -> None:
    folder = TEMPLATES / "investigation"
    made = subprocess.run(
        [sys.executable, "-B", "plant.py", "12"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert made.stdout == (folder / "cases" / "planted.json").read_text()


@pytest.mark.parametrize("family", ["tool_fragility", "schema_evolution", "operator_loop"])
def test_a_good_decision_becomes_a_scenario_of_variants(capsys: pytest.CaptureFixture[str], family: str) -> None:
    Path("model.py").write_text(AGENT)
    Path("trace.json").write_text(json.dumps(trace()))
    assert main(["import", "otlp", "trace.json"]) == ExitCode.OK
    made = document(capsys, f"scenario new --from last tool:pay --family {family} --name mine")
    cases = {path.stem: json.loads(path.read_text()) for path in Path("scenarios/mine/cases").glob("*.json")}
    assert made["cases"] == len(cases)
    assert set(cases) == {"as-recorded", *EXPECTED[family]}
    result = document(capsys, "simulate --config scenarios/mine/sweep.yaml --model-fn model.py:act")
    means = {c["variables"]["case"]: c["mean"] for c in result["combinations"]}
    assert means == {"as-recorded": 1.0, **EXPECTED[family]}


def test_variants_need_something_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    document(capsys, "scenario new --template support_reply --name support")
    document(capsys, "run --scenario support")
    words = ["scenario", "new", "--from", "last", "text:/Thank/", "--family", "tool_fragility", "--name", "mine"]
    assert main(words) == ExitCode.USAGE
    assert "tool_fragility finds nothing to change" in capsys.readouterr().err
    assert not Path("scenarios/mine").exists()


EXPECTED = {
    "tool_fragility": {"result-1-reordered": True, "result-1-extended": True, "results-failed": False},
    "schema_evolution": {"parameter-added": True, "parameter-renamed": True, "description-gone": True},
    "operator_loop": {"veto": True, "question": False},
}
"""Family → variant → whether AGENT decides as it should."""
AGENT = """\
import json

def act(request):
    if "Stop." in request["messages"][-1]["content"]:
        return "As you say."
    call = {"name": "pay", "arguments": json.dumps({"invoice": "7"})}
    return {"role": "assistant", "tool_calls": [{"id": "c2", "type": "function", "function": call}]}
"""


def trace() -> dict[str, Any]:
    """One model call that pays after it has looked an invoice up."""
    looked = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Pay invoice 7 if it is open."},
        {"role": "assistant", "tool_calls": [looked]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"invoice": "7", "status": "open"}'},
    ]
    schema = {"type": "object", "properties": {"invoice": {"type": "string"}}, "required": ["invoice"]}
    tool = {"type": "function", "function": {"name": "pay", "description": "Pays.", "parameters": schema}}
    request = {"model": "m", "messages": messages, "tools": [tool]}
    paid = {"type": "tool_call", "id": "c2", "name": "pay", "arguments": '{"invoice": "7"}'}
    said = [{"role": "assistant", "parts": [paid], "finish_reason": "tool_calls"}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "whyspan.request.body": json.dumps(request),
        "gen_ai.output.messages": json.dumps(said),
    }
    span = {
        "traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "chat m", "kind": 3,
        "startTimeUnixNano": "1750000000000000000", "endTimeUnixNano": "1750000001000000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "t"}, "spans": [span]}]}]}
