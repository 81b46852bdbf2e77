"""Vercel AI SDK up to version 6: `ai.prompt.*`, `ai.settings.*`, `ai.response.*` on the inner `do…` spans.

Source: https://ai-sdk.dev/docs/ai-sdk-core/telemetry. The prompt is the SDK's own, before the provider's adapter; the
provider's name tells which API the adapter speaks. The outer span repeats the prompt and is no request.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..calls import Api, Json, ModelReply, ToolCall, Usage
from ..spans import Attributes, LogRecord, Span
from .answers import argument_string
from .dialogue import Call, Message, Result, ToolDefinition
from .fields import NEVER_IN_SEMCONV
from .partial import Found, PartialCall, Role, Trust
from .semconv import role_of
from .shapes import read_messages, read_result_content, read_tools
from .values import as_int, as_text, first, first_text, parse_list, parse_object, text_list

NAME = "vercel"

_CALLS = (
    "ai.generateText.doGenerate",
    "ai.streamText.doStream",
    "ai.generateObject.doGenerate",
    "ai.streamObject.doStream",
)
_OUTER = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_APIS = (
    ("openai.responses", Api.OPENAI_RESPONSES),
    ("azure-openai.responses", Api.OPENAI_RESPONSES),
    ("anthropic", Api.ANTHROPIC_MESSAGES),
    ("google", Api.GEMINI_GENERATE),
    ("amazon-bedrock", Api.BEDROCK_CONVERSE),
    ("ollama", Api.OLLAMA_CHAT),
)
_SETTINGS = {
    "maxOutputTokens": "max_tokens",
    "maxTokens": "max_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "stopSequences": "stop",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
_UNRECORDED = frozenset(
    {
        "logit_bias", "user", "metadata", "store", "parallel_tool_calls", "response_format", "service_tier",
        "reasoning_effort", "logprobs", "cache_control", "extra_body",
    }
)  # fmt: skip


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what an AI SDK span says; None for other spans."""
    if span.scope.name != "ai" and "ai.operationId" not in span.attributes:
        return None
    operation = first_text(span.attributes, "ai.operationId")
    if operation in _OUTER:
        return PartialCall(role=Role.AGENT)
    if operation == "ai.toolCall":
        return _read_tool(span.attributes)
    if operation in _CALLS:
        return replace(_read_call(span.attributes), retracted=_retracted(span.attributes))
    # From version 7 on the GenAI conventions say the rest.
    is_call = not operation and role_of(span) is Role.CALL
    return PartialCall(retracted=_retracted(span.attributes), unrecorded=NEVER_IN_SEMCONV) if is_call else None


def _retracted(attributes: Attributes) -> dict[str, str]:
    provider = first_text(attributes, "ai.model.provider", "gen_ai.provider.name", "gen_ai.system")
    has_temperature = first(attributes, "ai.settings.temperature", "gen_ai.request.temperature") is not None
    if provider.startswith("anthropic") and has_temperature:
        return {"top_p": "the AI SDK's Anthropic provider leaves it out when a temperature is set"}
    return {}


def _read_call(attributes: Attributes) -> PartialCall:
    provider = first_text(attributes, "ai.model.provider")
    api = next((api for prefix, api in _APIS if provider.startswith(prefix)), Api.OPENAI_CHAT)
    raw = parse_list(attributes.get("ai.prompt.messages")) or []
    messages = tuple(
        replace(m, is_plain=None) for m in read_messages(_referenced(raw) if api is Api.OPENAI_RESPONSES else raw)
    )
    usage = _usage(attributes)
    tools = _tools(attributes)
    return PartialCall(
        api=Found(api, f"{NAME}:ai.model.provider", Trust.STRUCTURED) if provider else None,
        messages=Found(messages, f"{NAME}:ai.prompt.messages", Trust.STRUCTURED) if messages else None,
        tools=Found(tools, f"{NAME}:ai.prompt.tools", Trust.STRUCTURED) if tools else None,
        params=dict(_params(attributes, api)),
        model=_found(attributes, "ai.model.id"),
        provider=_found(attributes, "ai.model.provider"),
        replies=_replies(attributes),
        usage=Found(usage, f"{NAME}:ai.usage", Trust.STRUCTURED) if usage != Usage() else None,
        response_id=_found(attributes, "ai.response.id"),
        session_id=_found(attributes, "ai.telemetry.metadata.sessionId"),
        unrecorded=_UNRECORDED,
        content_switch="experimental_telemetry: { recordInputs: true, recordOutputs: true }",
    )


def _referenced(messages: Sequence[Json]) -> list[Json]:
    """Returns the prompt with earlier answers as references: the provider sends their ids where the server has them."""
    return [
        {**m, "content": [_reference(p) for p in m["content"]]}
        if isinstance(m, Mapping) and m.get("role") == "assistant" and isinstance(m.get("content"), list)
        else m
        for m in messages
    ]


def _reference(part: Json) -> Json:
    options = part.get("providerOptions") if isinstance(part, Mapping) else None
    openai = options.get("openai") if isinstance(options, Mapping) else None
    item_id = as_text(openai.get("itemId")) if isinstance(openai, Mapping) else ""
    return {"type": "item_reference", "id": item_id} if item_id and part.get("type") == "text" else part


def _found(attributes: Attributes, key: str) -> Found[str] | None:
    value = as_text(attributes.get(key))
    return Found(value, f"{NAME}:{key}", Trust.STRUCTURED) if value else None


def _tools(attributes: Attributes) -> tuple[ToolDefinition, ...]:
    raw = attributes.get("ai.prompt.tools")
    return read_tools(raw if isinstance(raw, list | tuple) else parse_list(raw) or ())


def _params(attributes: Attributes, api: Api) -> Iterator[tuple[str, Found[Json]]]:
    for setting, name in _SETTINGS.items():
        key = f"ai.settings.{setting}"
        value = first(attributes, key)
        if name == "stop":
            value = text_list(value) or None
        if value is not None:
            yield name, Found(value, f"{NAME}:{key}", Trust.STRUCTURED)
    choice = parse_object(attributes.get("ai.prompt.toolChoice"))
    if choice is not None:
        yield "tool_choice", Found(_tool_choice(choice, api), f"{NAME}:ai.prompt.toolChoice", Trust.STRUCTURED)


def _tool_choice(choice: dict[str, Json], api: Api) -> Json:
    """Returns the SDK's neutral choice in the API's form."""
    kind, tool = as_text(choice.get("type")), as_text(choice.get("toolName"))
    if api is Api.ANTHROPIC_MESSAGES:
        return {"type": "tool", "name": tool} if tool else {"type": {"required": "any"}.get(kind, kind)}
    if not tool:
        return kind
    named = {"name": tool}
    return {"type": "function", **(named if api is Api.OPENAI_RESPONSES else {"function": named})}


def _replies(attributes: Attributes) -> Found[tuple[ModelReply, ...]] | None:
    calls = parse_list(attributes.get("ai.response.toolCalls")) or []
    text = first_text(attributes, "ai.response.text", "ai.response.object")
    finish = first_text(attributes, "ai.response.finishReason")
    if not (calls or text or finish):
        return None
    reply = ModelReply(
        text=text,
        tool_calls=tuple(
            ToolCall(
                name=as_text(c.get("toolName")),
                arguments=argument_string(c.get("input", c.get("args"))),
                id=as_text(c.get("toolCallId")),
            )
            for c in calls
            if isinstance(c, dict)
        ),
        finish_reason=finish,
        id=first_text(attributes, "ai.response.id"),
        model=first_text(attributes, "ai.response.model"),
    )
    return Found((reply,), f"{NAME}:ai.response", Trust.STRUCTURED)


def _usage(attributes: Attributes) -> Usage:
    def count(*names: str) -> int | None:
        values = (as_int(attributes.get(f"ai.usage.{name}")) for name in names)
        return next((v for v in values if v is not None), None)

    return Usage(
        input_tokens=count("inputTokens", "promptTokens"),
        output_tokens=count("outputTokens", "completionTokens"),
        cached_input_tokens=count("cachedInputTokens"),
        reasoning_tokens=count("reasoningTokens"),
    )


def _read_tool(attributes: Attributes) -> PartialCall:
    name, call_id = first_text(attributes, "ai.toolCall.name"), first_text(attributes, "ai.toolCall.id")
    arguments = first_text(attributes, "ai.toolCall.args", "ai.toolCall.input")
    result = first_text(attributes, "ai.toolCall.result", "ai.toolCall.output")
    parts = (
        Call(name=name, arguments=arguments, id=call_id),
        Result(content=read_result_content(result), call_id=call_id, name=name),
    )
    messages = (Message(role="tool", parts=parts),)
    return PartialCall(role=Role.TOOL, messages=Found(messages, f"{NAME}:ai.toolCall", Trust.CONTEXT))
