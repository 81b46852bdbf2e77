"""How far a rebuilt request can be trusted: its grade, what is missing, and what to switch on."""

from collections.abc import Iterator, Mapping

from ..calls import Api, Body, Completeness, Grade, Json, MissingField
from ..dialects.dialogue import Call, Media
from ..dialects.partial import PartialCall
from .encoding import Encoded

RECORD = "whyspan.record() in the agent's process keeps the whole request"
_NO_PLACE = "this convention has no place for it, so whether it was sent is unknown"
_OPENAI = frozenset({Api.OPENAI_CHAT, Api.OPENAI_RESPONSES})
_APPLIES: Mapping[str, frozenset[Api]] = {
    **dict.fromkeys(
        ("logit_bias", "logprobs", "stream_options", "response_format", "reasoning_effort"),
        frozenset({Api.OPENAI_CHAT}),
    ),
    **dict.fromkeys(
        ("parallel_tool_calls", "tools[].strict", "user", "store", "service_tier", "top_logprobs", "image.detail"),
        _OPENAI,
    ),
    "extra_body": _OPENAI,
    "metadata": _OPENAI | {Api.ANTHROPIC_MESSAGES},
    "cache_control": frozenset({Api.ANTHROPIC_MESSAGES}),
    "tool_result.is_error": frozenset({Api.ANTHROPIC_MESSAGES}),
    "developer role": frozenset({Api.OPENAI_CHAT}),
}
"""Fields that only some APIs have; all others apply everywhere."""


def assess(api: Api, call: PartialCall, encoded: Encoded) -> Completeness:
    """Returns the completeness of a rebuilt request."""
    if not _has_conversation(encoded.body):
        return Completeness(
            grade=Grade.NOT_REPLAYABLE, missing=(_no_content(call),), provenance=dict(encoded.provenance)
        )
    damage = (*_damage(call), *_undefined_tools(call, encoded.body), *_unnamed_model(api, call, encoded.body))
    unknown = tuple(_unrecorded(api, call, encoded.body))
    return Completeness(
        grade=_grade(damage, unknown, encoded),
        missing=(*damage, *unknown),
        provenance=dict(encoded.provenance),
    )


def _grade(damage: tuple[MissingField, ...], unknown: tuple[MissingField, ...], encoded: Encoded) -> Grade:
    if any(gap.name.startswith("messages") for gap in damage):
        return Grade.NOT_REPLAYABLE
    if damage or any(field.name.startswith("tools (") for field in unknown):
        return Grade.PARTIAL
    return Grade.EXACT if encoded.is_raw else Grade.SEMANTIC


def _has_conversation(body: Body) -> bool:
    return any(body.get(key) for key in ("messages", "input", "contents"))


def _no_content(call: PartialCall) -> MissingField:
    return MissingField(
        name="messages (text, tool call args, call ids, result ids, images, tools)",
        reason="the span carries no message content: content capture is off or the instrumentation has none",
        remedy=call.content_switch or RECORD,
    )


def _damage(call: PartialCall) -> Iterator[MissingField]:
    if call.body is not None:
        yield from call.body.gaps
        return
    for found in (call.messages, call.system, call.tools):
        if found is not None:
            yield from found.gaps


def _undefined_tools(call: PartialCall, body: Body) -> Iterator[MissingField]:
    """Yields the gap of a call that used tools which no span defines."""
    if any(body.get(key) for key in ("tools", "toolConfig", "functions")):
        return
    called = any(isinstance(part, Call) for m in (call.messages.value if call.messages else ()) for part in m.parts)
    called = called or any(reply.tool_calls for reply in (call.replies.value if call.replies else ()))
    if called and "tools" not in call.unrecorded:
        yield _missing_tools("tools were called, but no span of the trace holds their definitions")


def _missing_tools(reason: str) -> MissingField:
    return MissingField(
        name="tools (tool names, descriptions, schemas)", reason=reason, remedy=f"{RECORD}, or --tools FILE"
    )


def _unnamed_model(api: Api, call: PartialCall, body: Body) -> Iterator[MissingField]:
    if call.model is None and not isinstance(body.get("model"), str):
        yield MissingField(name="model", reason="no span names the model that was asked for", remedy=RECORD)


def _unrecorded(api: Api, call: PartialCall, body: Body) -> Iterator[MissingField]:
    has_tools = any(body.get(key) for key in ("tools", "toolConfig", "functions"))
    has_images = call.messages is not None and any(
        isinstance(part, Media) for m in call.messages.value for part in m.parts
    )
    for name in sorted(call.unrecorded):
        if name == "tools" and not has_tools:
            yield _missing_tools("this convention has no place for them")
        elif _applies(name, api, body, has_tools=has_tools, has_images=has_images):
            yield MissingField(name=name, reason=_NO_PLACE, remedy=RECORD)
    for name, why in call.retracted.items():
        if not _holds(body, name):
            yield MissingField(name=name, reason=why, remedy=RECORD)


def _applies(name: str, api: Api, body: Body, *, has_tools: bool, has_images: bool) -> bool:
    if api not in _APPLIES.get(name, frozenset(Api)) or _holds(body, name):
        return False
    if name in ("tools[].strict", "parallel_tool_calls"):
        return has_tools or name == "parallel_tool_calls"
    return has_images if name == "image.detail" else name != "tools"


def _holds(body: Body, name: str) -> bool:
    if name in body:
        return True
    holders: list[Json] = [body.get(key) for key in ("generationConfig", "inferenceConfig", "options")]
    return any(isinstance(holder, Mapping) and name in holder for holder in holders)
