"""An answer that came in pieces, put together as the answer it would have been in one."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

Json = Any


def assemble(data: bytes) -> Json:
    """Returns the answer in a body: JSON as it is, events and lines put together; None when it is neither."""
    text = data.decode("utf-8", "replace").strip()
    if text.startswith(("data:", "event:", ":", "id:")):
        return _join(list(_events(text)))
    try:
        whole = json.loads(text)
    except ValueError:
        lines = [_parsed(line) for line in text.splitlines() if line.strip()]
        return _join([line for line in lines if isinstance(line, dict)])
    return _join(whole) if isinstance(whole, list) and all(isinstance(item, dict) for item in whole) else whole


def _events(text: str) -> Iterable[dict[str, Json]]:
    for line in text.splitlines():
        if line.startswith("data:"):
            event = _parsed(line[5:].strip())
            if isinstance(event, dict):
                yield event


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _join(chunks: list[dict[str, Json]]) -> Json:
    if not chunks:
        return None
    finished = [c["response"] for c in chunks if str(c.get("type", "")).startswith("response.") and "response" in c]
    if finished:
        return finished[-1]
    if any(c.get("type") == "message_start" for c in chunks):
        return _join_anthropic(chunks)
    if any("choices" in c for c in chunks):
        return _join_chat(chunks)
    if any("candidates" in c for c in chunks):
        return _join_gemini(chunks)
    return _join_ollama(chunks) if any("message" in c for c in chunks) else chunks[-1]


def _join_chat(chunks: list[dict[str, Json]]) -> Json:
    choices: dict[int, dict[str, Json]] = {}
    answer: dict[str, Json] = {}
    for chunk in chunks:
        answer |= {k: v for k, v in chunk.items() if k not in ("choices", "object") and v is not None}
        for delta in chunk.get("choices") or ():
            index = delta.get("index", 0)
            fresh = {"index": index, "message": {"role": "assistant", "content": None}}
            choice = choices.setdefault(index, fresh)
            if delta.get("finish_reason"):
                choice["finish_reason"] = delta["finish_reason"]
            _add_delta(choice["message"], delta.get("delta") or {})
    return {**answer, "object": "chat.completion", "choices": [choices[i] for i in sorted(choices)]}


def _add_delta(message: dict[str, Json], delta: Mapping[str, Json]) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            for piece in value or ():
                _add_call(message.setdefault("tool_calls", []), piece)
        elif isinstance(value, str) and key != "role":
            message[key] = (message.get(key) or "") + value


def _add_call(calls: list[dict[str, Json]], piece: Mapping[str, Json]) -> None:
    index = piece.get("index", len(calls))
    while len(calls) <= index:
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call, function = calls[index], piece.get("function") or {}
    call["id"] = call["id"] or piece.get("id") or ""
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""


def _join_anthropic(chunks: list[dict[str, Json]]) -> Json:
    message: dict[str, Json] = {}
    blocks: dict[int, dict[str, Json]] = {}
    arguments: dict[int, str] = {}
    for chunk in chunks:
        kind, index = chunk.get("type"), chunk.get("index", 0)
        if kind == "message_start":
            message = dict(chunk.get("message") or {})
        elif kind == "content_block_start":
            blocks[index] = dict(chunk.get("content_block") or {})
        elif kind == "content_block_delta" and index in blocks:
            _add_block_delta(blocks[index], arguments, index, chunk.get("delta") or {})
        elif kind == "message_delta":
            message |= {k: v for k, v in (chunk.get("delta") or {}).items() if v is not None}
            message["usage"] = {**(message.get("usage") or {}), **(chunk.get("usage") or {})}
    for index, text in arguments.items():
        blocks[index]["input"] = _parsed(text) if text else {}
    return {**message, "content": [blocks[i] for i in sorted(blocks)]}


def _add_block_delta(block: dict[str, Json], arguments: dict[int, str], index: int, delta: Mapping[str, Json]) -> None:
    if delta.get("type") == "input_json_delta":
        arguments[index] = arguments.get(index, "") + (delta.get("partial_json") or "")
        return
    for key in ("text", "thinking", "signature"):
        if isinstance(delta.get(key), str):
            block[key] = (block.get(key) or "") + delta[key]


def _join_gemini(chunks: list[dict[str, Json]]) -> Json:
    answer: dict[str, Json] = {}
    candidates: dict[int, dict[str, Json]] = {}
    for chunk in chunks:
        answer |= {k: v for k, v in chunk.items() if k != "candidates"}
        for piece in chunk.get("candidates") or ():
            candidate = candidates.setdefault(piece.get("index", 0), {"content": {"role": "model", "parts": []}})
            candidate |= {k: v for k, v in piece.items() if k != "content"}
            candidate["content"]["parts"] += (piece.get("content") or {}).get("parts") or []
    return {**answer, "candidates": [candidates[i] for i in sorted(candidates)]}


def _join_ollama(chunks: list[dict[str, Json]]) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": ""}
    for chunk in chunks:
        piece = chunk.get("message") or {}
        message["content"] += piece.get("content") or ""
        if piece.get("tool_calls"):
            message["tool_calls"] = [*message.get("tool_calls", []), *piece["tool_calls"]]
    return {**chunks[-1], "message": message}
