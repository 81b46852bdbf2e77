"""An ablated request is one that its API accepts: by the vendors' own types, and by the rules they state in words."""

import copy
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as AnthropicParams
from botocore.session import Session
from botocore.validate import ParamValidator
from google.genai import types as gemini
from hypothesis import given, settings
from hypothesis import strategies as st
from ollama._types import ChatRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as ChatParams
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as ResponsesParams
from pydantic import TypeAdapter

from whyspan.analysis.attribution.problem import Role
from whyspan.analysis.fields import text_fields
from whyspan.analysis.segments import segment
from whyspan.ingest.calls import Api

WORDS = st.sampled_from(
    ["Do it now.", "Pay Ann. Then stop.", "", "Ω。はい。", '{"a": [1, "x. y. z."]}', "- one\n- two", "<p>Hi.</p>"]
)
TURNS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), WORDS),
        st.tuples(st.just("assistant"), WORDS),
        st.tuples(st.just("tool"), WORDS, st.booleans()),
    ),
    max_size=6,
)
SCHEMA = {"type": "object", "properties": {"to": {"type": "string", "description": "Whom. Really."}}}


def chat(system: str, turns: list[Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": "Go on. Please."}]
    for n, (kind, words, *rest) in enumerate(turns):
        if kind == "tool":
            call = {"id": f"c{n}", "type": "function", "function": {"name": "send", "arguments": '{"to": "a. b. c."}'}}
            messages.append({"role": "assistant", "content": words if rest[0] else None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": words})
        elif n % 2:
            messages.append({"role": kind, "content": [{"type": "text", "text": words or "x"}]})
        else:
            messages.append({"role": kind, "content": words})
    tool = {"type": "function", "function": {"name": "send", "description": "Sends. Mail.", "parameters": SCHEMA}}
    return {"model": "m", "messages": messages, "tools": [tool]}


def responses(system: str, turns: list[Any]) -> dict[str, Any]:
    items: list[Any] = [{"role": "user", "content": "Go on. Please."}]
    for n, (kind, words, *rest) in enumerate(turns):
        if kind == "tool":
            if rest[0]:
                items.append({"type": "reasoning", "id": f"r{n}", "summary": []})
            items.append({"type": "function_call", "call_id": f"c{n}", "name": "send", "arguments": '{"to": "a. b."}'})
            items.append({"type": "function_call_output", "call_id": f"c{n}", "output": words})
        else:
            items.append(_item(kind, words, n))
    tool = {"type": "function", "name": "send", "description": "Sends. Mail.", "parameters": SCHEMA, "strict": False}
    return {"model": "m", "instructions": system, "input": items, "tools": [tool]}


def _item(kind: str, words: str, n: int) -> dict[str, Any]:
    if not n % 2:
        return {"role": kind, "content": words}
    if kind == "user":
        return {"role": kind, "content": [{"type": "input_text", "text": words or "x"}]}
    block = {"type": "output_text", "text": words or "x", "annotations": []}
    return {"type": "message", "id": f"m{n}", "status": "completed", "role": kind, "content": [block]}


def anthropic(system: str, turns: list[Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "Go on. Please."}]
    for n, (kind, words, *rest) in enumerate(turns):
        if kind == "tool":
            call = {"type": "tool_use", "id": f"c{n}", "name": "send", "input": {"to": "a. b. c."}}
            said = [{"type": "text", "text": words or "x"}] if rest[0] else []
            thought = [{"type": "thinking", "thinking": "h", "signature": "s"}] if rest[0] else []
            messages.append({"role": "assistant", "content": [*thought, *said, call]})
            content = [{"type": "text", "text": words or "x"}] if n % 2 else words
            result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": content}
            messages.append({"role": "user", "content": [result]})
        else:
            messages.append(
                {"role": kind, "content": [{"type": "text", "text": words or "x"}] if n % 2 else words or "x"}
            )
    tool = {"name": "send", "description": "Sends. Mail.", "input_schema": SCHEMA}
    return {
        "model": "m",
        "max_tokens": 10,
        "system": system or "x",
        "messages": _alternating(messages),
        "tools": [tool],
    }


def bedrock(system: str, turns: list[Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": [{"text": "Go on. Please."}]}]
    for n, (kind, words, *rest) in enumerate(turns):
        text = {"text": words or "x"}
        if kind == "tool":
            call = {"toolUse": {"toolUseId": f"c{n}", "name": "send", "input": {"to": "a. b. c."}}}
            content = [{"json": {"k": words}}] if rest[0] else [text]
            messages.append({"role": "assistant", "content": [*([text] if rest[0] else []), call]})
            messages.append({"role": "user", "content": [{"toolResult": {"toolUseId": f"c{n}", "content": content}}]})
        else:
            messages.append({"role": kind, "content": [text]})
    spec = {"toolSpec": {"name": "send", "description": "Sends. Mail.", "inputSchema": {"json": SCHEMA}}}
    body = {"messages": _alternating(messages), "system": [{"text": system or "x"}], "toolConfig": {"tools": [spec]}}
    return {"model": "m", **body}


def gemini_body(system: str, turns: list[Any]) -> dict[str, Any]:
    contents: list[Any] = [{"role": "user", "parts": [{"text": "Go on. Please."}]}]
    for kind, words, *rest in turns:
        text = {"text": words or "x"}
        if kind == "tool":
            call = {"functionCall": {"name": "send", "args": {"to": "a. b. c."}}}
            answer = {"functionResponse": {"name": "send", "response": {"result": words}}}
            contents.append({"role": "model", "parts": [*([text] if rest[0] else []), call]})
            contents.append({"role": "user", "parts": [answer]})
        else:
            contents.append({"role": "model" if kind == "assistant" else "user", "parts": [text]})
    tool = {"functionDeclarations": [{"name": "send", "description": "Sends. Mail.", "parametersJsonSchema": SCHEMA}]}
    body = {"contents": _alternating(contents, "parts"), "systemInstruction": {"parts": [{"text": system or "x"}]}}
    return {"model": "m", **body, "tools": [tool]}


def ollama(system: str, turns: list[Any]) -> dict[str, Any]:
    body = chat(system, [(k, w, *r) for k, w, *r in turns])
    for message in body["messages"]:
        if isinstance(message["content"], list):
            message["content"] = message["content"][0]["text"]
        message["content"] = message["content"] or ""
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = {"to": "a. b. c."}
    return body


def _alternating(turns: list[Any], key: str = "content") -> list[Any]:
    """Joins neighbouring turns of one speaker, as the API wants requests to be."""
    joined: list[Any] = []
    for turn in turns:
        if joined and joined[-1]["role"] == turn["role"]:
            blocks = [
                [{"type": "text", "text": t[key]}] if isinstance(t[key], str) else t[key] for t in (joined[-1], turn)
            ]
            joined[-1] = {**turn, key: blocks[0] + blocks[1]}
        else:
            joined.append(turn)
    return joined


def by_type(kind: Any) -> Callable[[dict[str, Any]], None]:
    adapter = TypeAdapter(kind)

    def validate(body: dict[str, Any]) -> None:
        adapter.validate_python(body)

    return validate


CONVERSE = Session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def by_botocore(body: dict[str, Any]) -> None:
    sent = {"modelId": body["model"], **{k: v for k, v in body.items() if k != "model"}}
    report = ParamValidator().validate(sent, CONVERSE)
    assert not report.has_errors(), report.generate_report()
    texts = [b["text"] for m in body["messages"] for b in m["content"] if "text" in b]
    assert all(texts), "blank text blocks are refused"


def by_gemini(body: dict[str, Any]) -> None:
    for content in body["contents"]:
        gemini.Content.model_validate(content)
        assert content["parts"], "empty contents are refused"
    config = {k: body[k] for k in ("systemInstruction", "tools") if k in body}
    gemini.GenerateContentConfig.model_validate(config)


by_anthropic_type = by_type(AnthropicParams)


def by_anthropic_rules(body: dict[str, Any]) -> None:
    by_anthropic_type(body)
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    assert all(b["text"] for b in blocks if b["type"] == "text"), "text content blocks must be non-empty"
    assert all(m["content"] for m in body["messages"]), "messages must have non-empty content"
    assert body.get("system") != ""


APIS: dict[Api, tuple[Callable[[str, list[Any]], dict[str, Any]], Callable[[dict[str, Any]], None]]] = {
    Api.OPENAI_CHAT: (chat, by_type(ChatParams)),
    Api.OPENAI_RESPONSES: (responses, by_type(ResponsesParams)),
    Api.ANTHROPIC_MESSAGES: (anthropic, by_anthropic_rules),
    Api.GEMINI_GENERATE: (gemini_body, by_gemini),
    Api.BEDROCK_CONVERSE: (bedrock, by_botocore),
    Api.OLLAMA_CHAT: (ollama, lambda body: void(ChatRequest.model_validate(body))),
}
each_api = pytest.mark.parametrize("api", APIS, ids=lambda a: a.value)


def void(value: object) -> None:
    assert value is not None


def speakers(body: dict[str, Any]) -> list[str]:
    turns = body.get("messages") or body.get("contents") or body["input"]
    return [t.get("role", t.get("type")) for t in turns if t.get("role") not in {"system", "developer"}]


def call_ids(body: dict[str, Any]) -> list[str]:
    return sorted(part for part in json.dumps(body).split('"') if part.startswith("c") and part[1:].isdigit())


@each_api
@settings(max_examples=40, deadline=None)
@given(system=WORDS, turns=TURNS, data=st.data())
def test_an_ablated_request_is_valid(api: Api, system: str, turns: list[Any], data: st.DataObject) -> None:
    build, validate = APIS[api]
    body = build(system, turns)
    validate(copy.deepcopy(body))
    cut = segment(api, body)
    gone = data.draw(st.sets(st.sampled_from(range(len(cut.groups)))))
    before = copy.deepcopy(body)
    ablated = cut.without(gone)
    validate(copy.deepcopy(dict(ablated)))
    assert body == before, "the recorded request is never changed"
    assert call_ids(dict(ablated)) == call_ids(body), "calls and results stay together"
    assert speakers(dict(ablated))[0] == speakers(body)[0]
    assert speakers(dict(ablated))[-1] == speakers(body)[-1]
    left = {" ".join(s.text.split()) for s in segment(api, ablated).segments}
    assert not left & {cut.said(g) for g in gone if cut.said(g) != "[removed]"}


@each_api
@settings(max_examples=20, deadline=None)
@given(system=WORDS, turns=TURNS, data=st.data())
def test_a_removal_brings_no_speaker_beside_himself(
    api: Api, system: str, turns: list[Any], data: st.DataObject
) -> None:
    body = APIS[api][0](system, turns)
    cut = segment(api, body)
    gone = data.draw(st.sets(st.sampled_from(range(len(cut.groups)))))

    def meetings(who: list[str]) -> int:
        return sum(a == b for a, b in pairwise(who))

    assert meetings(speakers(dict(cut.without(gone)))) <= meetings(speakers(body))


@each_api
def test_every_text_of_a_request_is_a_field(api: Api) -> None:
    body = APIS[api][0]("Be brief.", [("user", "Hi. There."), ("tool", "Result one.", True), ("assistant", "Done.")])
    texts = " ".join(f.text for f in text_fields(api, body))
    for words in ("Be brief.", "Go on. Please.", "Hi. There.", "Result one.", "a. b.", "Done.", "Sends.", "Whom."):
        assert words in texts, words


@each_api
def test_arguments_and_results_name_their_tool_and_their_call(api: Api) -> None:
    body = APIS[api][0]("Be brief.", [("tool", "Result one.", False)])
    fields = [f for f in text_fields(api, body) if f.role in {Role.TOOL, Role.CALL_ARGUMENTS}]
    assert [f.tool for f in fields] == ["send", "send"]
    ids = {f.call_id for f in fields}
    assert ids == ({""} if api is Api.GEMINI_GENERATE else {"c0"})


@each_api
def test_removing_nothing_is_the_request_itself(api: Api) -> None:
    body = APIS[api][0]("Be brief.", [("user", "")])
    assert segment(api, body).without([]) is body
