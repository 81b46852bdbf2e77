"""How far a rebuilt request can be trusted: its grade, what is missing, and what to switch on."""

from collections.abc import Iterator, Mapping

from ..calls import Api, Body, Completeness, Grade, MissingField
from ..dialects.dialogue import Call, Media
from ..dialects.fields import TOOL_TURNS, TOOLS
from ..dialects.partial import PartialCall
from .encoding import Encoded
from .encoding.parameters import holds, native_name

RECORD = "whyspan.record() in the agent's process keeps the whole request"
_NO_PLACE = "not recorded by this instrumentation, so whether it was sent is unknown"
_CHAT = frozenset({Api.OPENAI_CHAT, Api.FUNCTION})
_OPENAI = _CHAT | {Api.OPENAI_RESPONSES}
_ANTHROPIC = frozenset({Api.ANTHROPIC_MESSAGES})
_APPLIES: Mapping[str, frozenset[Api]] = {
    **dict.fromkeys(
        ("logit_bias", "logprobs", "stream_options", "response_format", "reasoning_effort", "message.name"), _CHAT
    ),
    **dict.fromkeys(("parallel_tool_calls", "tools[].strict", "user", "store", "service_tier", "extra_body"), _OPENAI),
    **dict.fromkeys(("top_logprobs", "image.detail"), _OPENAI),
    **dict.fromkeys(("cache_control", "tool_result.is_error"), _ANTHROPIC),
    "include": frozenset({Api.OPENAI_RESPONSES}),
    "metadata": _OPENAI | _ANTHROPIC,
    "tool_choice": frozenset(Api) - {Api.OLLAMA_CHAT, Api.GEMINI_GENERATE},
    "additionalModelRequestFields": frozenset({Api.BEDROCK_CONVERSE}),
    "num_ctx": frozenset({Api.OLLAMA_CHAT}),
}
"""Fields that only some APIs have; settings are looked up in the API's own list."""
_REASONS = {
    "extra_body": (
        "fields passed as extra_body (top_k, chat_template_kwargs, …; they override temperature and the like) "
        "are not recorded"
    ),
}


def assess(api: Api, call: PartialCall, encoded: Encoded) -> Completeness:
    """Returns the completeness of a rebuilt request."""
    unknown = tuple(_unrecorded(api, call, encoded.body))
    if not _has_conversation(encoded.body):
        damage: tuple[MissingField, ...] = (_no_content(call),)
    else:
        damage = (*_damage(call), *_undefined_tools(call, encoded.body))
    damage = (*damage, *_unnamed_model(call, encoded.body))
    return Completeness(
        grade=_grade(damage, unknown, encoded),
        missing=(*damage, *unknown),
        provenance=dict(encoded.provenance),
    )


def _grade(damage: tuple[MissingField, ...], unknown: tuple[MissingField, ...], encoded: Encoded) -> Grade:
    if any(gap.name.startswith("messages") for gap in damage):
        return Grade.NOT_REPLAYABLE
    if damage or any(field.name.startswith((f"{TOOLS} (", f"{TOOL_TURNS} (")) for field in unknown):
        return Grade.PARTIAL
    return Grade.EXACT if encoded.is_raw else Grade.SEMANTIC


def _has_conversation(body: Body) -> bool:
    return any(body.get(key) for key in ("messages", "input", "contents"))


def _no_content(call: PartialCall) -> MissingField:
    return MissingField(
        name="messages (text, roles, names, tool call args, call ids, result ids, images, tools)",
        reason="the span carries no message content: content capture is off, or the instrumentation lost it",
        remedy=call.content_switch or RECORD,
    )


def _damage(call: PartialCall) -> Iterator[MissingField]:
    if call.body is not None:
        yield from call.body.gaps
        return
    for found in (call.messages, call.system, call.tools):
        if found is not None:
            yield from found.gaps


def _has_tools(body: Body) -> bool:
    return any(body.get(key) for key in ("tools", "toolConfig", "functions"))


def _undefined_tools(call: PartialCall, body: Body) -> Iterator[MissingField]:
    """Yields the gap of a call that used tools which no span defines."""
    if _has_tools(body) or TOOLS in call.unrecorded:
        return
    called = any(isinstance(part, Call) for m in (call.messages.value if call.messages else ()) for part in m.parts)
    if called or any(reply.tool_calls for reply in (call.replies.value if call.replies else ())):
        yield _missing_tools("tools were called, but no span of the trace holds their definitions")


def _missing_tools(reason: str) -> MissingField:
    return MissingField(
        name=f"{TOOLS} (tool names, descriptions, schemas)", reason=reason, remedy=f"{RECORD}, or --tools FILE"
    )


def _unnamed_model(call: PartialCall, body: Body) -> Iterator[MissingField]:
    if call.model is None and not isinstance(body.get("model"), str):
        yield MissingField(name="model", reason="no span names the model that was asked for", remedy=RECORD)


def _unrecorded(api: Api, call: PartialCall, body: Body) -> Iterator[MissingField]:
    for name in sorted(call.unrecorded):
        shown = _shown(name, api, call, body)
        if shown:
            yield MissingField(name=shown, reason=_REASONS.get(name, _NO_PLACE), remedy=RECORD)
    for name, why in call.retracted.items():
        if not holds(api, body, name):
            yield MissingField(name=native_name(api, name) or name, reason=why, remedy=RECORD)


def _shown(name: str, api: Api, call: PartialCall, body: Body) -> str:
    """Returns the field in the API's words, or nothing when the call cannot lack it."""
    if name == TOOLS:
        return "" if _has_tools(body) else f"{TOOLS} (tool names, descriptions, schemas)"
    if name == TOOL_TURNS:
        return f"{TOOL_TURNS} (text, tool call args, call ids, result ids)"
    if name in ("image", "image.detail"):
        return name if name == "image" or _has_images(call) else ""
    if name in _APPLIES:
        applies = api in _APPLIES[name] and not holds(api, body, name)
        return (native_name(api, name) or name) if applies else ""
    native = native_name(api, name)
    return native if native and not holds(api, body, name) else ""


def _has_images(call: PartialCall) -> bool:
    return call.messages is not None and any(isinstance(p, Media) for m in call.messages.value for p in m.parts)
