"""Chooses the encoder, keeps a raw body as it is, and remembers where every field came from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...calls import Api, Body, Json
from ...dialects.dialogue import Message, ToolDefinition
from ...dialects.partial import PartialCall, Trust
from . import anthropic, bedrock, chat, gemini, ollama, responses
from .parameters import encode_parameters

MessageEncoder: TypeAlias = Callable[[Sequence[Message], Sequence[Message]], dict[str, Json]]
ToolEncoder: TypeAlias = Callable[[Sequence[ToolDefinition]], dict[str, Json]]

_ENCODERS: Mapping[Api, tuple[MessageEncoder, ToolEncoder]] = {
    Api.OPENAI_CHAT: (chat.encode_messages, chat.encode_tools),
    Api.FUNCTION: (chat.encode_messages, chat.encode_tools),
    Api.OPENAI_RESPONSES: (responses.encode_messages, responses.encode_tools),
    Api.ANTHROPIC_MESSAGES: (anthropic.encode_messages, anthropic.encode_tools),
    Api.GEMINI_GENERATE: (gemini.encode_messages, gemini.encode_tools),
    Api.BEDROCK_CONVERSE: (bedrock.encode_messages, bedrock.encode_tools),
    Api.OLLAMA_CHAT: (ollama.encode_messages, ollama.encode_tools),
}
MODEL_IN_URL = frozenset({Api.GEMINI_GENERATE, Api.BEDROCK_CONVERSE})


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request body and the source of each of its fields."""

    body: Body
    provenance: Mapping[str, str]
    is_raw: bool
    """Whether the body is the recorded one, with nothing added."""


def encode_body(api: Api, call: PartialCall) -> Encoded:
    """Returns the provider-native request, with as much of it as was recorded."""
    built, sources = _build(api, call)
    if call.body is None:
        return Encoded(built, sources, is_raw=False)
    raw = dict(call.body.value)
    provenance = dict.fromkeys(raw, call.body.source)
    if is_complete(api, raw):
        return Encoded(raw, provenance, is_raw=call.body.trust is Trust.RAW)
    added = {k: v for k, v in built.items() if k not in raw}
    provenance |= {k: v for k, v in sources.items() if k.partition(".")[0] in added}
    return Encoded({**raw, **added}, provenance, is_raw=False)


def is_complete(api: Api, body: Body) -> bool:
    """Tells whether a recorded body is the whole request rather than its messages alone."""
    return "model" in body if api not in MODEL_IN_URL else len(body) > 1


def _build(api: Api, call: PartialCall) -> tuple[dict[str, Json], dict[str, str]]:
    encode_messages, encode_tools = _ENCODERS[api]
    body: dict[str, Json] = {}
    sources: dict[str, str] = {}
    if call.model is not None and api not in MODEL_IN_URL:
        body["model"] = call.model.value
        sources["model"] = call.model.source
    if call.messages is not None or call.system is not None:
        conversation = encode_messages(
            call.system.value if call.system else (), call.messages.value if call.messages else ()
        )
        body |= conversation
        sources |= {key: _conversation_source(key, call) for key in conversation}
    if call.tools is not None:
        encoded = encode_tools(call.tools.value)
        body |= encoded
        sources |= dict.fromkeys(encoded, call.tools.source)
    params, origins = encode_parameters(api, call.params)
    return {**body, **params}, {**sources, **origins}


def _conversation_source(key: str, call: PartialCall) -> str:
    is_system = key in ("system", "instructions", "systemInstruction")
    found = (call.system or call.messages) if is_system else (call.messages or call.system)
    return found.source if found else ""
