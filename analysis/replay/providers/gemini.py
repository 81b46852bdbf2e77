"""Gemini generateContent. Source: https://ai.google.dev/api/generate-content."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ....ingest.calls import Body, ModelReply, ToolCall, Usage
from ....ingest.errors import NotReplayableError
from ..completion import Completion

BLOCKED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"}
)
"""Finish reasons that mean a filter ended the reply."""


class GeminiWire:
    """How generateContent is spoken; `candidateCount` gives several samples."""

    samples = 8

    def path(self, request: Body) -> str:
        """Names the model."""
        return f"/models/{model_in_url(request)}:generateContent"

    def encode(self, request: Body, count: int) -> Body:
        """Sends the recorded body without its model; asks for candidates where that is more than one."""
        body = {k: v for k, v in request.items() if k != "model"}
        settings = {k: v for k, v in (body.get("generationConfig") or {}).items() if k != "candidateCount"}
        if count > 1:
            settings["candidateCount"] = count
        return {**body, "generationConfig": settings} if settings or "generationConfig" in body else body

    def decode(self, value: Any) -> list[Completion]:
        """Reads a response; a blocked prompt is a reply that refuses."""
        usage = _usage(value.get("usageMetadata") or {})
        identity, model = value.get("responseId") or "", value.get("modelVersion") or ""
        blocked = (value.get("promptFeedback") or {}).get("blockReason")
        if blocked and not value.get("candidates"):
            refusal = ModelReply(refusal=f"prompt blocked: {blocked}", id=identity, model=model)
            return [Completion(reply=refusal, usage=usage)]
        candidates = value["candidates"]
        if not candidates:
            raise ValueError("no candidates")
        return [
            Completion(reply=_reply(c, identity, model), usage=usage if index == 0 else Usage())
            for index, c in enumerate(candidates)
        ]


def model_in_url(request: Body) -> str:
    """Returns the model as a path segment; NotReplayableError when the request does not name one."""
    model = str(request.get("model") or "").removeprefix("models/")
    if not model:
        raise NotReplayableError("the recorded call does not name its model", hint="--model NAME says which to ask")
    return quote(model, safe="")


def _reply(candidate: Mapping[str, Any], identity: str, model: str) -> ModelReply:
    parts = (candidate.get("content") or {}).get("parts") or ()
    finish = candidate.get("finishReason") or ""
    return ModelReply(
        text="".join(p["text"] for p in parts if "text" in p and not p.get("thought")),
        tool_calls=tuple(_call(p["functionCall"]) for p in parts if "functionCall" in p),
        finish_reason=finish,
        refusal=f"blocked: {finish}" if finish in BLOCKED else "",
        id=identity,
        model=model,
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
    return ToolCall(name=call["name"], arguments=arguments, id=call.get("id") or "")


def _usage(value: Mapping[str, Any]) -> Usage:
    """Thoughts are billed as output and counted apart from the candidates."""
    said, thought = value.get("candidatesTokenCount"), value.get("thoughtsTokenCount")
    return Usage(
        input_tokens=value.get("promptTokenCount"),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        cached_input_tokens=value.get("cachedContentTokenCount"),
        reasoning_tokens=thought,
    )
