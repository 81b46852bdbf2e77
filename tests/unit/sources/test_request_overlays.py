import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from captures import FOLDER, rebuilt
from click.testing import CliRunner

from whyspan.cli.overlay_options import overlay_options
from whyspan.ingest.calls import Api, Grade
from whyspan.ingest.errors import ConfigError, UsageError
from whyspan.ingest.overlays import Overlay, Overlays, read_overlay, read_overlays

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]


def test_tools_fill_the_gap_and_raise_the_grade() -> None:
    call = rebuilt(FOLDER / "message_events" / "openai_v2")[0]
    assert call.completeness.grade is Grade.PARTIAL
    filled = Overlay(tools=TOOLS).apply(call)
    assert filled.request["tools"] == TOOLS
    assert filled.completeness.grade is Grade.SEMANTIC
    assert filled.completeness.provenance["tools"] == "overlay --tools"
    assert not any(gap.name.startswith("tools") and "[]." not in gap.name for gap in filled.completeness.missing)


def test_settings_go_where_the_api_has_them() -> None:
    call = rebuilt(FOLDER / "openinference" / "gemini")[0]
    request = Overlay(params={"temperature": 1.5, "toolConfig": {"functionCallingConfig": {}}}).apply(call).request
    assert request["generationConfig"]["temperature"] == 1.5
    assert request["generationConfig"]["seed"] == 42
    assert "toolConfig" in request


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        (Api.OPENAI_CHAT, {"messages": [{"role": "system", "content": "new"}, {"role": "user", "content": "q"}]}),
        (Api.OPENAI_RESPONSES, {"instructions": "new"}),
        (Api.ANTHROPIC_MESSAGES, {"system": "new"}),
        (Api.BEDROCK_CONVERSE, {"system": [{"text": "new"}]}),
        (Api.GEMINI_GENERATE, {"systemInstruction": {"parts": [{"text": "new"}]}}),
    ],
)
def test_system_prompt_replaces_the_recorded_one(api: Api, expected: dict[str, Any]) -> None:
    recorded = [{"role": "system", "content": "old"}, {"role": "user", "content": "q"}]
    call = replace(rebuilt(FOLDER / "openinference" / "parts")[0], api=api, request={"messages": recorded})
    assert expected.items() <= Overlay(system="new").apply(call).request.items()


def test_an_empty_overlay_changes_nothing() -> None:
    call = rebuilt(FOLDER / "openinference" / "parts")[0]
    assert Overlay().apply(call) is call


def test_an_overlay_does_not_make_lost_messages_replayable() -> None:
    call = rebuilt(FOLDER / "semconv" / "content_off")[0]
    assert Overlay(tools=TOOLS).apply(call).completeness.grade is Grade.NOT_REPLAYABLE


@pytest.mark.parametrize(("option", "content"), [("tools", "{}"), ("params", "[]"), ("tools", "{"), ("params", "")])
def test_a_wrong_file_is_a_usage_error(tmp_path: Path, option: str, content: str) -> None:
    file = tmp_path / "overlay.json"
    file.write_text(content)
    with pytest.raises(UsageError, match="overlay"):
        read_overlay(**{option: file})


def test_commands_get_the_overlay_from_their_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command
    @overlay_options
    def command(overlays: Overlays) -> None:
        click.echo(json.dumps(overlays.given.tools))

    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    result = CliRunner().invoke(command, ["--tools", str(tmp_path / "tools.json")])
    assert json.loads(result.output) == TOOLS


def test_what_is_remembered_for_a_service_gives_way_to_what_is_given(tmp_path: Path) -> None:
    (tmp_path / "params.json").write_text('{"temperature": 0.5, "seed": 1}')
    section = {"support": {"params": str(tmp_path / "params.json")}}
    overlays = read_overlays(section, Overlay(params={"temperature": 0.1}))
    call = replace(rebuilt(FOLDER / "message_events" / "openai_v2")[0], request={"model": "m", "messages": []})
    known, unknown = overlays.apply([replace(call, service="support"), replace(call, service="other")])
    assert (known.request["temperature"], known.request["seed"]) == (0.1, 1)
    assert unknown.request["temperature"] == 0.1
    assert "seed" not in unknown.request


def test_an_overlay_section_names_a_wrong_key() -> None:
    with pytest.raises(ConfigError, match="unknown key 'tool'") as caught:
        read_overlays({"support": {"tool": "tools.json"}}, Overlay())
    assert caught.value.hint == "did you mean 'tools'?"
