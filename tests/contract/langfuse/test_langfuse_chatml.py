"""Langfuse's own expected messages for the traces of real frameworks are the oracle for what an import gives.

The traces are not part of this repository; the test runs where they lie beside it.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langfuse_server import LangfuseServer

from whyspan.ingest.calls import Api, ModelCall, ModelReply
from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.sources.langfuse import open_source
from whyspan.ingest.sources.source import Selection

TRACES = Path(__file__).parents[4] / "shared" / "data" / "langfuse" / "framework-traces"
NAMES = sorted(path.name.removesuffix(".trace.json") for path in TRACES.glob("*.trace.json"))

Message = tuple[str, Any, tuple[tuple[str, Any], ...]]
"""Role, content, tool calls (name, arguments); JSON texts are opened, because they may be serialised anew."""

pytestmark = pytest.mark.skipif(not NAMES, reason="the framework traces are not here")


def import_calls(name: str) -> dict[str, ModelCall]:
    document = json.loads((TRACES / f"{name}.trace.json").read_text("utf-8"))
    observations = [as_v2(o, document["trace"]) for o in document["observations"]]
    with LangfuseServer(observations=observations).running() as server:
        keys = {"LANGFUSE_PUBLIC_KEY": server.user, "LANGFUSE_SECRET_KEY": server.password}
        with open_source(Selection(), environ={"LANGFUSE_BASE_URL": server.url, **keys}) as source:
            spans = [span for batch in source.batches(None) for span in batch.spans]
    return {call.span_id: call for call in rebuild_calls(spans, ())}


def as_v2(observation: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, Any]:
    metadata = opened(observation.get("metadata")) or {}
    flat = {key: as_text(value) for key, value in flattened(metadata)}
    of_trace = {"traceName": trace.get("name"), **{key: trace.get(key) for key in ("tags", "userId", "sessionId")}}
    return {**observation, **of_trace, "providedModelName": observation.get("model"), "metadata": flat}


def flattened(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in metadata.items():
        if key in ("attributes", "resourceAttributes", "scope"):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        else:
            yield key, value


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def opened(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def expected_messages(name: str) -> Iterator[tuple[str, str, list[Message]]]:
    """Yields (observation, field, messages); what the oracle itself could not read has no role and is left out."""
    document = json.loads((TRACES / f"{name}.chatml.json").read_text("utf-8"))
    for observation, fields in document.items():
        for field, result in fields.items():
            read = [expected_message(m) for m in result.get("data") or ()] if result["success"] else []
            yield observation, field, [message for message in read if message is not None]


def expected_message(raw: Mapping[str, Any]) -> Message | None:
    inner = raw if "role" in raw else (raw.get("json") or {}).get("message")
    if not isinstance(inner, dict):
        return None
    calls = tuple((call["name"], opened(call["arguments"])) for call in inner.get("tool_calls") or ())
    return role_of(inner["role"]), text_of(inner.get("content")), calls


def role_of(role: str) -> str:
    return {"model": "assistant"}.get(role, role)


def text_of(content: Any) -> Any:
    value = opened(content)
    if isinstance(value, list) and value and all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in value):
        return "".join(part["text"] for part in value)
    return value or None


def request_messages(call: ModelCall) -> list[Message]:
    match call.api:
        case Api.GEMINI_GENERATE:
            system = call.request.get("systemInstruction")
            contents = [{**system, "role": "system"}] if system else []
            return [gemini_message(m) for m in [*contents, *call.request["contents"]]]
        case Api.OPENAI_RESPONSES:
            return [responses_item(item) for item in call.request["input"]]
        case _:
            return [chat_message(m) for m in call.request["messages"]]


def chat_message(raw: Mapping[str, Any]) -> Message:
    calls = tuple((c["function"]["name"], opened(c["function"]["arguments"])) for c in raw.get("tool_calls") or ())
    return raw["role"], text_of(raw.get("content")), calls


def gemini_message(raw: Mapping[str, Any]) -> Message:
    parts = raw["parts"]
    calls = tuple((p["functionCall"]["name"], p["functionCall"]["args"]) for p in parts if "functionCall" in p)
    results = [p["functionResponse"]["response"] for p in parts if "functionResponse" in p]
    text = "".join(part.get("text", "") for part in parts)
    return role_of(raw["role"]), results[0] if results else text_of(text), calls


def responses_item(raw: Mapping[str, Any]) -> Message:
    if raw.get("type") == "function_call_output":
        return "tool", text_of(raw["output"]), ()
    return raw["role"], text_of(raw["content"]), ()


def reply_message(reply: ModelReply) -> Message:
    return "assistant", text_of(reply.text), tuple((c.name, opened(c.arguments) or {}) for c in reply.tool_calls)


def is_same(ours: Message, theirs: Message) -> bool:
    # Gemini has no role for tools: results come from the user, and some frameworks write `tool` all the same.
    roles = {ours[0], theirs[0]}
    return ours[1:] == theirs[1:] and (len(roles) == 1 or roles == {"tool", "user"})


def compare(name: str) -> tuple[int, list[str]]:
    """Returns the number of messages compared, and those that differ."""
    calls = import_calls(name)
    compared, different = 0, []
    for observation, field, messages in expected_messages(name):
        call = calls.get(observation)
        if call is None or not messages:
            continue  # no call to a model, or one that the oracle cannot read either
        ours = request_messages(call) if field == "input" else [reply_message(r) for r in call.replies]
        if ours and ours[0][0] == "system" and messages[0][0] != "system":
            ours = ours[1:]  # instructions that the oracle leaves in the metadata
        for i, theirs in enumerate(messages):
            compared += 1
            if i >= len(ours) or not is_same(ours[i], theirs):
                different.append(f"{name} {observation} {field}[{i}]: {theirs} != {ours[i] if i < len(ours) else None}")
    return compared, different


def test_at_least_95_percent_of_the_messages_are_what_langfuse_expects() -> None:
    results = [compare(name) for name in NAMES]
    compared = sum(count for count, _ in results)
    different = [line for _, lines in results for line in lines]
    assert compared >= 70
    assert len(different) <= 0.05 * compared, "\n".join(line[:600] for line in different)
