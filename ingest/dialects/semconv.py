"""OpenTelemetry GenAI semantic conventions, from 1.37 on: all messages in one structured attribute.

The same keys travel on the span, on a span event and on a log record (`gen_ai.client.inference.operation.details`), as
JSON strings or as arrays and maps. Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and
…/gen-ai-events/; the older names are those of versions before 1.37 and of OpenLLMetry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..calls import Api, Json, MissingField, ModelReply, Usage
from ..spans import AnyValue, Attributes, LogRecord, Span
from .answers import merge_messages, reply_of
from .dialogue import Call, Message, Result, ToolDefinition
from .fields import NEVER_IN_SEMCONV, SETTINGS, TOOLS
from .limits import cut_messages
from .partial import Found, PartialCall, Role, Trust
from .shapes import read_messages, read_parts, read_result_content, read_tools
from .values import (
    as_float,
    as_int,
    as_text,
    first,
    first_text,
    parse_json,
    parse_list,
    parse_object,
    salvage_list,
    text_list,
)

NAME = "semconv"
DETAILS = "gen_ai.client.inference.operation.details"

ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), Role.CALL),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow", "plan", "chain", "agent_step"), Role.AGENT),
    "execute_tool": Role.TOOL,
}
PARAMS: Mapping[str, str] = {
    "gen_ai.request.temperature": "temperature",
    "gen_ai.request.top_p": "top_p",
    "gen_ai.request.top_k": "top_k",
    "gen_ai.request.max_tokens": "max_tokens",
    "gen_ai.request.stop_sequences": "stop_sequences",
    "gen_ai.request.seed": "seed",
    "gen_ai.request.presence_penalty": "presence_penalty",
    "gen_ai.request.frequency_penalty": "frequency_penalty",
    "gen_ai.request.choice.count": "n",
    "gen_ai.request.service_tier": "service_tier",
    "gen_ai.openai.request.service_tier": "service_tier",
    "openai.request.service_tier": "service_tier",
    "gen_ai.openai.request.seed": "seed",
    "gen_ai.request.reasoning_effort": "reasoning_effort",
    "gen_ai.request.parallel_tool_calls": "parallel_tool_calls",
    "gen_ai.request.tool_choice": "tool_choice",
    "gen_ai.request.user": "user",
    "gen_ai.user": "user",
    "llm.user": "user",
}
_HANDLER = "opentelemetry.util.genai.handler"
"""The scope of openai-v2 2.4 and others of its time, which write through a shared library."""
_ALL_SETTINGS = ("opentelemetry.instrumentation.genai.", "opentelemetry.instrumentation.openai_v2", _HANDLER)
"""Instrumentations that record every sampling setting there is an attribute for."""
_WITHOUT_TOOLS = ("opentelemetry.instrumentation.openai_v2", "strands.telemetry.tracer", _HANDLER)
"""Instrumentations that follow the convention and never write tool definitions."""
CAPTURE_SWITCH = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT"
)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what the span and its details events say; None when no operation of a model or agent is named."""
    role = role_of(span)
    if role is None:
        return None
    carriers = [(span.attributes, ""), *_details(span, logs)]
    seen = [k for a, _ in carriers for k in a if k.startswith("gen_ai.")]
    if not seen:
        return None
    return read_carriers(role, carriers, span)


def role_of(span: Span) -> Role | None:
    """Returns what the operation name makes of the span; a span that has messages but no name is a call."""
    operation = as_text(span.attributes.get("gen_ai.operation.name"))
    if operation:
        return ROLES.get(operation)
    kind = as_text(first(span.attributes, "traceloop.span.kind", "openinference.span.kind", "lmnr.span.type"))
    if kind and kind.lower() not in ("llm", "generation"):
        return Role.AGENT if kind.lower() in ("agent", "workflow") else None
    named = first(span.attributes, "gen_ai.request.model", "gen_ai.input.messages")
    return Role.CALL if named is not None else None


def _details(span: Span, logs: Sequence[LogRecord]) -> Iterator[tuple[Attributes, str]]:
    for event in span.events:
        if event.name == DETAILS:
            yield event.attributes, "span event "
    for record in logs:
        if DETAILS in (record.event_name, record.attributes.get("event.name")):
            yield record.attributes, "log "


def read_carriers(role: Role, carriers: Sequence[tuple[Attributes, str]], span: Span) -> PartialCall:
    """Returns the fields of several attribute maps that describe one operation, the first that has a key winning."""
    sources: dict[str, str] = {}
    attributes: dict[str, AnyValue] = {}
    for carrier, where in carriers:
        for key, value in carrier.items():
            if key not in attributes and value is not None and value != "":
                attributes[key] = value
                sources[key] = f"{NAME}:{where}{key}"
    if role is Role.TOOL:
        return _read_tool(attributes, sources)
    messages, system = _conversation(attributes, sources, span)
    return PartialCall(
        role=role,
        api=_api(attributes, sources, span),
        messages=messages,
        system=system,
        tools=_tools(attributes, sources),
        params=dict(_params(attributes, sources)),
        model=_text(attributes, sources, "gen_ai.request.model"),
        provider=_text(attributes, sources, "gen_ai.provider.name", "gen_ai.system"),
        base_url=_text(attributes, sources, "gen_ai.openai.api_base", "openai.api_base"),
        replies=_replies(attributes, sources, span),
        usage=_usage(attributes, sources),
        response_id=_text(attributes, sources, "gen_ai.response.id"),
        session_id=_text(attributes, sources, "gen_ai.conversation.id", "session.id"),
        agent=_text(attributes, sources, "gen_ai.agent.name"),
        unrecorded=_unrecorded(span),
        content_switch="" if "gen_ai.input.messages" in attributes else CAPTURE_SWITCH,
    )


def _unrecorded(span: Span) -> frozenset[str]:
    settings = frozenset() if span.scope.name.startswith(_ALL_SETTINGS) else SETTINGS
    tools = {TOOLS} if span.scope.name in _WITHOUT_TOOLS else frozenset()
    return NEVER_IN_SEMCONV | settings | tools


def _read_tool(attributes: Attributes, sources: Mapping[str, str]) -> PartialCall:
    name, call_id = first_text(attributes, "gen_ai.tool.name"), first_text(attributes, "gen_ai.tool.call.id")
    description = attributes.get("gen_ai.tool.description")
    tool = ToolDefinition(
        name=name,
        description=description if isinstance(description, str) else None,
        parameters=parse_object(first(attributes, "gen_ai.tool.json_schema", "gen_ai.tool.parameters")),
    )
    result = first(attributes, "gen_ai.tool.call.result", "tool_response")
    parts = (
        Call(name=name, arguments=first(attributes, "gen_ai.tool.call.arguments", "tool_arguments"), id=call_id),
        Result(content=read_result_content(result), call_id=call_id, name=name),
    )
    return PartialCall(
        role=Role.TOOL,
        tools=Found((tool,), f"{NAME}:gen_ai.tool.*", Trust.CONTEXT) if name else None,
        messages=Found((Message(role="tool", parts=parts),), f"{NAME}:tool span", Trust.CONTEXT),
    )


def _text(attributes: Attributes, sources: Mapping[str, str], *keys: str) -> Found[str] | None:
    for key in keys:
        value = as_text(attributes.get(key))
        if value:
            return Found(value, sources[key], Trust.STRUCTURED)
    return None


def _api(attributes: Attributes, sources: Mapping[str, str], span: Span) -> Found[Api] | None:
    kind = first_text(attributes, "openai.api.type")
    apis = {"responses": Api.OPENAI_RESPONSES, "chat_completions": Api.OPENAI_CHAT}
    if kind in apis:
        return Found(apis[kind], sources["openai.api.type"], Trust.STRUCTURED)
    # OpenLLMetry and Logfire name the API in the span only.
    if span.name == "openai.response" or span.name.startswith("Responses API"):
        return Found(Api.OPENAI_RESPONSES, f"{NAME}:span name", Trust.STRUCTURED)
    return None


def _conversation(
    attributes: Attributes, sources: Mapping[str, str], span: Span
) -> tuple[Found[tuple[Message, ...]] | None, Found[tuple[Message, ...]] | None]:
    """Returns messages and instructions, where this instrumentation's library sends them."""
    messages, system = _messages(attributes, sources), _system(attributes, sources)
    if messages is None:
        return None, system
    if span.scope.name == _HANDLER:
        messages = replace(messages, gaps=(*messages.gaps, *_emptied(messages.value)))
    lead = messages.value[0] if messages.value else None
    if system is not None and lead is not None and lead.role == "system" and lead.parts == system.value[0].parts:
        system = None  # OpenLIT writes it to both.
    elif system is not None and span.scope.name == "ai":
        # The Vercel AI SDK sends its system prompt as a message, to every API.
        messages, system = replace(messages, value=(*system.value, *messages.value)), None
    elif system is None and span.name == "openai.response" and lead is not None and lead.role == "system":
        # OpenLLMetry makes a message of the Responses API's instructions.
        system = Found((lead,), messages.source, messages.trust)
        messages = replace(messages, value=messages.value[1:])
    return messages, system


def _messages(attributes: Attributes, sources: Mapping[str, str]) -> Found[tuple[Message, ...]] | None:
    key = "gen_ai.input.messages"
    value = attributes.get(key)
    raw = parse_list(value)
    gaps: tuple[MissingField, ...] = ()
    if raw is None and isinstance(value, str):
        raw = salvage_list(value)
        gaps = (cut_messages(len(raw), len(value), key),)
    return Found(read_messages(raw), sources[key], Trust.STRUCTURED, gaps) if raw else None


def _emptied(messages: Sequence[Message]) -> Iterator[MissingField]:
    """Yields the messages whose content is gone: this library writes a part even for an empty text."""
    for i, message in enumerate(messages):
        if not message.parts and message.role != "assistant":
            yield MissingField(
                name=f"messages[{i}].content (text, images, names)",
                reason="the instrumentation drops content that is a list of parts",
                remedy="whyspan.record() in the agent's process keeps the whole request",
            )


def _system(attributes: Attributes, sources: Mapping[str, str]) -> Found[tuple[Message, ...]] | None:
    key = "gen_ai.system_instructions"
    value = attributes.get(key)
    if value is None:
        return None
    parsed = parse_json(value)
    content = value if parsed is None or isinstance(parsed, str | int | float) else parsed
    parts = read_parts([content] if isinstance(content, str | Mapping) else content)
    return Found((Message(role="system", parts=parts),), sources[key], Trust.STRUCTURED) if parts else None


def _tools(attributes: Attributes, sources: Mapping[str, str]) -> Found[tuple[ToolDefinition, ...]] | None:
    key = "gen_ai.tool.definitions"
    tools = read_tools(parse_list(attributes.get(key)) or ())
    return Found(tools, sources[key], Trust.STRUCTURED) if tools else None


def _params(attributes: Attributes, sources: Mapping[str, str]) -> Iterator[tuple[str, Found[Json]]]:
    for key, name in PARAMS.items():
        value = first(attributes, key)
        if name == "stop_sequences":
            value = text_list(value) or None
        if value is not None:
            yield name, Found(value, sources[key], Trust.STRUCTURED)


def _replies(attributes: Attributes, sources: Mapping[str, str], span: Span) -> Found[tuple[ModelReply, ...]] | None:
    raw = parse_list(attributes.get("gen_ai.output.messages")) or []
    reasons = text_list(attributes.get("gen_ai.response.finish_reasons"))
    items = [item for item in raw if isinstance(item, Mapping)]
    own = [as_text(item.get("finish_reason")) for item in items]
    messages = [m for item in items for m in read_messages([item])]
    error = as_text(attributes.get("error.type"))
    if not (messages or error):
        return None
    if len(messages) > 1 and len(messages) == len(items) and (len(list(filter(None, own))) > 1):
        replies = [reply_of(m, finish_reason=r) for m, r in zip(messages, own, strict=True)]
    else:
        reason = next(filter(None, own), next(iter(reasons), ""))
        replies = [reply_of(merge_messages(messages), finish_reason=reason)] if messages else [ModelReply()]
    response_id = as_text(attributes.get("gen_ai.response.id"))
    model = as_text(attributes.get("gen_ai.response.model"))
    identified = tuple(_identified(r, response_id, model, error) for r in replies)
    source = sources.get("gen_ai.output.messages") or sources["error.type"]
    return Found(identified, source, Trust.STRUCTURED)


def _identified(reply: ModelReply, response_id: str, model: str, error: str) -> ModelReply:
    return ModelReply(
        text=reply.text,
        tool_calls=reply.tool_calls,
        finish_reason=reply.finish_reason,
        refusal=reply.refusal,
        id=response_id,
        model=model,
        error=error,
    )


def _usage(attributes: Attributes, sources: Mapping[str, str]) -> Found[Usage] | None:
    usage = read_token_attributes(attributes)
    key = next((k for k in attributes if k.startswith("gen_ai.usage.")), None)
    return Found(usage, sources[key], Trust.STRUCTURED) if usage and key else None


def read_token_attributes(attributes: Attributes) -> Usage | None:
    """Returns the `gen_ai.usage.*` attributes, current and older names; None when there are none."""
    usage = Usage(
        input_tokens=as_int(first(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")),
        output_tokens=as_int(first(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")),
        cached_input_tokens=as_int(
            first(
                attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
                "gen_ai.usage.details.cache_read_tokens",
            )
        ),
        reasoning_tokens=as_int(
            first(attributes, "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens")
        ),
        cost_usd=as_float(first(attributes, "operation.cost")),
    )  # fmt: skip
    return usage if usage != Usage() else None
