"""What every registered provider promises, checked against a local server that speaks its API from recorded shapes."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_server import Answer, ModelServer, model_server

from whyspan.analysis.replay import engine as engine_module
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.providers.http import HttpProvider, Target
from whyspan.analysis.replay.providers.registry import wires
from whyspan.analysis.replay.reply_store import SqliteReplyStore, StoredReply
from whyspan.ingest.errors import NotReplayableError, UpstreamError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "providers"
APIS = sorted(set(wires()) - {"function"})
ROOTS = {"openai.chat": "/v1", "openai.responses": "/v1", "gemini.generate": "/v1"}
"""What the recorded path has before the API's own paths."""
TRANSPORT = {"stream", "stream_options", "n", "store", "model", "seed"}

each_api = pytest.mark.parametrize("api", APIS)


def recorded(api: str) -> tuple[str, dict[str, Any], Any]:
    request = json.loads((FIXTURES / api / "request.json").read_text("utf-8"))
    body = request["body"]
    if "model" not in body:
        body = {**body, "model": request["path"].split("/")[-1 if ":" in request["path"].split("/")[-1] else -2]}
        body["model"] = body["model"].partition(":generateContent")[0].replace("%3A", ":")
    return request["path"], body, json.loads((FIXTURES / api / "reply.json").read_text("utf-8"))


def sample(api: str, server: ModelServer, count: int = 1, body: Any = None, **options: Any) -> list[StoredReply]:
    async def run() -> Sequence[tuple[StoredReply, bool]]:
        target = Target(url=server.url + ROOTS.get(api, ""), headers={"x-key": "secret"}, **options)
        provider = HttpProvider(wires()[api], target)
        engine = ReplayEngine(provider, SqliteReplyStore(None), Budget(100))
        try:
            return await engine.sample(body or recorded(api)[1], 0, count)
        finally:
            await provider.aclose()

    return [stored for stored, _ in asyncio.run(run())]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "BACKOFF_S", 0.01)


def without_seed(value: Any) -> Any:
    return {k: v for k, v in value.items() if k != "seed"} if isinstance(value, dict) else value


@each_api
def test_the_recorded_request_is_sent_where_and_as_it_was(api: str) -> None:
    path, body, reply = recorded(api)
    with model_server(lambda _: Answer(reply)) as server:
        sample(api, server)
    (received,) = server.received
    assert received.path == path
    assert received.headers["x-key"] == "secret"
    sent = {k: without_seed(v) for k, v in received.body.items() if k not in TRANSPORT}
    for key in ("system", "tools"):
        if "cache_control" in json.dumps(sent.get(key)):
            sent[key] = body[key]
    assert sent == {k: without_seed(v) for k, v in body.items() if k not in TRANSPORT}


@each_api
def test_the_reply_is_read_in_full(api: str) -> None:
    _, _, reply = recorded(api)
    with model_server(lambda _: Answer(reply)) as server:
        (stored,) = sample(api, server)
    said, usage = stored.completion.reply, stored.completion.usage
    assert said.text == "Ich prüfe noch São Paulo…"
    assert [(c.name, json.loads(c.arguments)) for c in said.tool_calls] == [
        ("get_weather", {"city": "São Paulo", "unit": "fahrenheit"})
    ]
    cached = 13 if api == "anthropic.messages" else 0
    assert (usage.input_tokens, usage.output_tokens) == (102 + cached, 20)
    assert said.finish_reason
    assert not said.refusal
    assert not said.error


@each_api
def test_several_samples_come_back_whatever_the_api_can(api: str) -> None:
    with model_server(lambda _: Answer(recorded(api)[2])) as server:
        assert [s.sample for s in sample(api, server, count=5)] == [0, 1, 2, 3, 4]


FAILURES = {
    "429 with Retry-After": Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "0.1"}),
    "429 without": Answer({"error": {"message": "slow down"}}, 429),
    "500": Answer(b"oops", 500),
    "503": Answer({"error": {"message": "overloaded"}}, 503),
    "529": Answer({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529),
    "broken JSON": Answer(b'{"choices": [', 200),
    "not an object": Answer([1, 2], 200),
    "another object": Answer({"hello": "world"}, 200),
    "truncated body": Answer({"padding": "x" * 500}, 200, cut=100),
    "HTML of a proxy": Answer(b"<html>502</html>", 502),
}


@each_api
@pytest.mark.parametrize("failure", FAILURES)
def test_a_passing_failure_is_tried_again(api: str, failure: str) -> None:
    with model_server(lambda _: Answer(recorded(api)[2])) as server:
        server.ordered.extend([FAILURES[failure]] * 2)
        (stored,) = sample(api, server)
    assert stored.completion.reply.tool_calls
    assert len(server.received) == 3


@each_api
def test_a_timeout_is_tried_again(api: str) -> None:
    with model_server(lambda _: Answer(recorded(api)[2])) as server:
        server.ordered.append(Answer({}, delay_s=0.6))
        assert sample(api, server, timeout_s=0.2)
    assert len(server.received) == 2


@each_api
def test_retry_after_is_obeyed(api: str) -> None:
    with model_server(lambda _: Answer(recorded(api)[2])) as server:
        server.ordered.append(Answer({}, 429, {"retry-after": "0.5"}))
        start = time.monotonic()
        sample(api, server)
    assert time.monotonic() - start >= 0.5


LASTING = {
    "bad key": (Answer({"error": {"message": "invalid x-api-key"}}, 401), "key"),
    "unknown model": (Answer({"error": {"message": "no such model"}}, 404), "model"),
    "context too long": (
        Answer({"error": {"message": "This model's maximum context length is 8192 tokens"}}, 400), "longer than",
    ),
    "empty account": (Answer({"error": {"code": "insufficient_quota", "message": "You exceeded …"}}, 429), None),
}  # fmt: skip


@each_api
@pytest.mark.parametrize("failure", LASTING)
def test_a_lasting_failure_ends_the_job_at_once_and_says_what_to_do(api: str, failure: str) -> None:
    answer, hint = LASTING[failure]
    with model_server(lambda _: answer) as server, pytest.raises(UpstreamError) as caught:
        sample(api, server)
    assert len(server.received) == 1
    assert not caught.value.transient
    assert hint is None or hint in (caught.value.hint or "")
    assert "secret" not in str(caught.value)


REFUSALS: dict[str, list[Any]] = {
    "openai.chat": [
        {"choices": [{"message": {"content": None, "refusal": "I cannot help."}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]},
    ],
    "openai.responses": [
        {"status": "completed", "output": [
            {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot help."}]}]},
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
    ],
    "anthropic.messages": [{"content": [], "stop_reason": "refusal"}],
    "gemini.generate": [
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}},
        {"candidates": [{"finishReason": "SAFETY"}]},
    ],
    "bedrock.converse": [
        {"output": {"message": {"role": "assistant", "content": [{"text": "Blocked."}]}},
         "stopReason": "guardrail_intervened"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(("api", "reply"), [(a, r) for a, replies in REFUSALS.items() for r in replies])
def test_a_refusal_is_an_outcome(api: str, reply: Any) -> None:
    with model_server(lambda _: Answer(reply)) as server:
        (stored,) = sample(api, server)
    assert stored.completion.reply.refusal
    assert not stored.completion.reply.tool_calls


def test_a_prompt_that_azure_filters_is_an_outcome() -> None:
    answer = Answer({"error": {"code": "content_filter", "message": "The response was filtered"}}, 400)
    with model_server(lambda _: answer) as server:
        (stored,) = sample("openai.chat", server)
    assert stored.completion.reply.refusal == "The response was filtered"
    assert stored.completion.reply.finish_reason == "content_filter"


@pytest.mark.parametrize(("api", "key"), [("openai.chat", "n"), ("gemini.generate", "candidateCount")])
@pytest.mark.parametrize("server_does", ["obeys", "ignores", "refuses"])
def test_native_samples_are_used_where_the_server_gives_them(api: str, key: str, server_does: str) -> None:
    reply, many = recorded(api)[2], "choices" if api == "openai.chat" else "candidates"

    def respond(request: Any) -> Answer:
        asked = request.body.get(key) or request.body.get("generationConfig", {}).get(key) or 1
        if server_does == "refuses" and asked > 1:
            return Answer({"error": {"message": f"{key} must be 1"}}, 400)
        return Answer({**reply, many: reply[many] * (asked if server_does == "obeys" else 1)})

    body = {k: without_seed(v) for k, v in recorded(api)[1].items() if k != "seed"}
    with model_server(respond) as server:
        assert [s.sample for s in sample(api, server, count=6, body=body)] == list(range(6))
    assert len(server.received) == {"obeys": 1, "ignores": 6, "refuses": 7}[server_does]


def test_an_anthropic_prompt_is_marked_for_the_cache_unless_it_marks_itself() -> None:
    wire = wires()["anthropic.messages"]
    plain = wire.encode({"model": "m", "system": "Be brief.", "messages": []}, 1)
    assert plain["system"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    marked = {"model": "m", "system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
              "tools": [{"name": "t"}], "messages": []}  # fmt: skip
    assert wire.encode(marked, 1) == marked


def test_a_replay_is_never_stored_at_the_provider() -> None:
    assert wires()["openai.responses"].encode({"model": "m", "input": "x", "store": True}, 1)["store"] is False
    assert "store" not in wires()["openai.chat"].encode({"model": "m", "messages": [], "store": True}, 1)


def test_a_replay_never_runs_the_tools_of_an_mcp_server() -> None:
    wire = wires()["openai.responses"]
    server = {"type": "mcp", "server_label": "mail", "server_url": "https://mail.example", "require_approval": "never"}
    sent = wire.encode({"model": "m", "input": "x", "tools": [server]}, 1)
    assert sent["tools"][0]["require_approval"] == "always"
    item = {"type": "mcp_approval_request", "id": "a", "name": "send", "arguments": "{}", "server_label": "mail"}
    (completion,) = wire.decode({"status": "completed", "output": [item]})
    assert completion.reply.tool_calls[0].name == "send"
    with pytest.raises(NotReplayableError, match="run their tools again"):
        wires()["anthropic.messages"].encode({"model": "m", "messages": [], "mcp_servers": [{"name": "mail"}]}, 1)
