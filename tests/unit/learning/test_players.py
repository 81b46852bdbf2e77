"""Commands, command-line clients and HTTP agents answer like any model, and say clearly why when they do not."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from backend_server import Answer, Backend, Call

from whyspan.analysis.learning.play.players import Player
from whyspan.ingest.calls import Api
from whyspan.ingest.errors import UpstreamError, UsageError


def ask(player: Player, text: str = "hi") -> str:
    async def work() -> str:
        provider, _ = player.open()
        try:
            (completion,) = await provider.complete(player.request(text), 1)
        finally:
            await provider.aclose()
        return completion.reply.text

    return asyncio.run(work())


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_a_command_reads_the_request_and_prints_the_answer(tmp_path: Path) -> None:
    player = Player(provider="command", command=(script(tmp_path, "agent", "cat"),), folder=tmp_path, system="S")
    asked = json.loads(ask(player))
    assert [m["content"] for m in asked["messages"]] == ["S", "hi"]


def test_a_command_line_client_reads_a_prompt_and_gets_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "claude", 'echo "$@"; cat\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert ask(Player(provider="claude-cli", model="opus")) == "-p --model opus --output-format text\nhi"


def test_a_client_that_is_not_there_or_not_logged_in_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    player = Player(provider="codex-cli")
    with pytest.raises(UsageError) as missing:
        ask(player)
    assert missing.value.hint == "is codex installed and on the PATH?"
    script(tmp_path, "codex", "echo 'Not logged in' >&2; exit 1\n")
    with pytest.raises(UpstreamError, match="Not logged in") as refused:
        ask(player)
    assert refused.value.hint == "is codex logged in?"


def test_a_client_that_hangs_is_ended(tmp_path: Path) -> None:
    player = Player(provider="command", command=(script(tmp_path, "agent", "exec sleep 60"),), folder=tmp_path)
    with pytest.raises(UpstreamError, match=r"did not answer within 0\.2 s"):
        ask(replace(player, timeout_s=0.2))


class Agent(Backend):
    """Answers with what it was asked last, or fails."""

    def answer(self, call: Call) -> Answer:
        if call.path == "/broken":
            return Answer(503, {})
        output = call.body["messages"][-1]["content"]
        return Answer(body={"output": output}, headers={"content-type": "application/json"})


def test_an_agent_behind_a_url_is_asked_over_http() -> None:
    with Agent().running() as agent:
        assert ask(Player(provider="url", url=f"{agent.url}/ask")) == "hi"
        with pytest.raises(UpstreamError, match="503") as failed:
            ask(Player(provider="url", url=f"{agent.url}/broken"))
    assert failed.value.transient


class ChatServer(Backend):
    """A chat completions endpoint that says which model it was asked for."""

    def answer(self, call: Call) -> Answer:
        message = {"role": "assistant", "content": f"{call.body['model']} at {call.path}"}
        return Answer(body={"choices": [{"message": message, "finish_reason": "stop"}]})


def test_an_entry_of_the_settings_is_meant_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ChatServer().running() as server:
        Path("whyspan.toml").write_text(
            f'[providers.other]\nbase_url = "http://127.0.0.1:9"\n'
            f'[providers.mine]\nmatch = {{ service = "billing" }}\nbase_url = "{server.url}/v1"\n'
        )
        assert ask(Player(provider="mine", model="m")) == "m at /v1/chat/completions"


def test_a_request_has_the_form_of_the_provider_it_goes_to() -> None:
    claude = Player(provider="anthropic", model="claude-haiku-4-5", system="S", parameters={"temperature": 0})
    assert claude.api is Api.ANTHROPIC_MESSAGES
    request = claude.request("hi")
    assert request["system"] == "S"
    assert request["messages"][0]["role"] == "user"
    assert (request["temperature"], request["max_tokens"]) == (0, 4096)
