"""OpenInference: the raw request in `input.value`, and the same again flattened into numbered keys.

Source: https://arize-ai.github.io/openinference/spec/semantic_conventions.html. The raw form differs between the
instrumentations: provider kwargs (openai, anthropic, google-genai, litellm), a bare message list (bedrock), LangChain's
constructor dump. `llm.model_name` is the model that answered, so it is never taken for the one asked for when the
parameters name another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..calls import Api, Body, Json, MissingField, ModelReply, Usage
from ..spans import Attributes, LogRecord, Span
from .answers import read_response
from .dialogue import Call, Message, Result, ToolDefinition
from .fields import SETTINGS
from .flattened import REDACTED, read_input, read_output, read_tool_schemas
from .gemini_sdk import to_wire
from .partial import Found, PartialCall, Role, Trust
from .placeholders import without_placeholders
from .requests import is_request, request_fields
from .response_echo import is_echo, settings_of
from .shapes import read_messages
from .transcripts import read_transcript
from .values import (
    as_float,
    as_int,
    as_text,
    first,
    first_text,
    parse_object,
)

NAME = "openinference"

_ROLES = {"LLM": Role.CALL, "AGENT": Role.AGENT, "CHAIN": Role.AGENT, "TOOL": Role.TOOL}
_CLIENTS = ("openai", "anthropic", "google_genai", "litellm", "vertexai", "mistralai", "groq", "bedrock", "portkey")
"""Instrumentations of client libraries: their arguments are the request."""
_ALL_SETTINGS = (*_CLIENTS, "langchain", "openai_agents", "instructor")
"""Instrumentations that record all settings of a call; those of other frameworks have the model's configuration."""
_CONFIGURED_NAME = ("agno", "smolagents", "llama_index", "dspy", "strands_agents", "beeai")
"""Instrumentations whose `llm.model_name` is the model that was configured, for want of the response's."""
_NOT_FLATTENED = frozenset({"image.detail", "cache_control", "tool_result.is_error", "extra_body", "include"})
_REDACTED_IMAGE = MissingField(
    name="image",
    reason="replaced by __REDACTED__, being longer than the instrumentation's limit",
    remedy="OPENINFERENCE_BASE64_IMAGE_MAX_LENGTH=10000000",
)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what an OpenInference span says; None for spans without a kind and for kinds that concern no call."""
    attributes = span.attributes
    kind = first_text(attributes, "openinference.span.kind").upper()
    role = _ROLES.get(kind)
    if role is None:
        return None
    if role is Role.TOOL:
        return _read_tool(span)
    if role is not Role.CALL:
        return _read_agent(attributes)
    prepared = _prepared(attributes)
    if prepared is not None:
        return prepared
    parameters = parse_object(attributes.get("llm.invocation_parameters")) or {}
    if is_echo(parameters):  # The OpenAI Agents instrumentation has only the answer.
        parameters = settings_of(parameters)
    library = span.scope.name.rpartition(".")[2]
    recorded = _body(attributes)
    # A framework's arguments are what its own model class got, before the provider's adapter.
    body = recorded if library in _CLIENTS or not library else None
    api = _api(attributes)
    messages = read_input(attributes, span.dropped_attributes_count, NAME)
    if messages is None and recorded is not None and body is None:
        messages = _messages_of(recorded)
    tools = read_tool_schemas(attributes)
    system: Found[tuple[Message, ...]] | None = None
    if messages is not None and api is not None and messages.value[0].role == "system":
        # The Responses API's instructions are recorded as the first message.
        system = replace(messages, value=messages.value[:1], gaps=())
        messages = replace(messages, value=messages.value[1:])
    return PartialCall(
        api=api,
        body=body,
        messages=messages,
        system=system,
        tools=Found(tools, f"{NAME}:llm.tools", Trust.FLATTENED) if tools else None,
        params=dict(_params(parameters)),
        model=_model(attributes, parameters, body, library),
        provider=_found(attributes, "llm.provider", "llm.system"),
        base_url=_base_url(parameters),
        replies=_replies(attributes),
        usage=_usage(attributes),
        response_id=_response_id(attributes),
        session_id=_found(attributes, "session.id"),
        agent=_found(attributes, "agent.name"),
        unrecorded=frozenset({"extra_body"}) if body is not None else _unrecorded(span),
    )


def _unrecorded(span: Span) -> frozenset[str]:
    library = span.scope.name.rpartition(".")[2]
    if library == "bedrock":
        return _NOT_FLATTENED | {"tool_choice", "additionalModelRequestFields"}
    framework = (
        frozenset() if library in _ALL_SETTINGS else SETTINGS | {"tool_choice", "parallel_tool_calls", "message.name"}
    )
    return _NOT_FLATTENED | framework


def _api(attributes: Attributes) -> Found[Api] | None:
    output = parse_object(attributes.get("output.value")) or {}
    is_response = output.get("object") == "response"
    return Found(Api.OPENAI_RESPONSES, f"{NAME}:output.value", Trust.RAW) if is_response else None


def _read_agent(attributes: Attributes) -> PartialCall:
    transcript = read_transcript(parse_object(attributes.get("output.value")) or {})
    return PartialCall(
        role=Role.AGENT,
        messages=Found(transcript, f"{NAME}:output.value", Trust.CONTEXT) if transcript else None,
        session_id=_found(attributes, "session.id"),
        agent=_found(attributes, "agent.name"),
    )


def _prepared(attributes: Attributes) -> PartialCall | None:
    """Returns the arguments that a span of kind LLM only builds for the call that follows, as LlamaIndex's do."""
    output = parse_object(attributes.get("output.value")) or {}
    if not isinstance(output.get("messages"), list) or any(k.startswith("llm.output_messages.") for k in attributes):
        return None
    params = {
        name: Found(value, f"{NAME}:output.value of the preparing span", Trust.CONTEXT)
        for name, value in request_fields(output).items()
        if name not in ("messages", "tools", "model") and value is not None
    }
    return PartialCall(role=Role.PREPARATION, params=params)


def _messages_of(body: Found[Body]) -> Found[tuple[Message, ...]] | None:
    raw = body.value.get("messages")
    messages = read_messages(raw) if isinstance(raw, list) else ()
    return Found(messages, body.source, Trust.STRUCTURED, body.gaps) if messages else None


def _found(attributes: Attributes, *keys: str) -> Found[str] | None:
    for key in keys:
        value = as_text(attributes.get(key))
        if value:
            return Found(value, f"{NAME}:{key}", Trust.FLATTENED)
    return None


def _body(attributes: Attributes) -> Found[Body] | None:
    body = parse_object(attributes.get("input.value"))
    if body is None or not is_request(body):
        return None
    fields = to_wire(body) if "contents" in body else request_fields(body)
    kept, redacted = without_placeholders(fields, REDACTED.__eq__)
    return Found(kept, f"{NAME}:input.value", Trust.RAW, (_REDACTED_IMAGE,) if redacted else ())


def _read_tool(span: Span) -> PartialCall:
    attributes = span.attributes
    name = first_text(attributes, "tool.name")
    schema = parse_object(attributes.get("tool.parameters"))
    # Some instrumentations put the arguments of this call where the schema belongs.
    is_schema = schema is not None and isinstance(schema.get("properties"), Mapping)
    description = attributes.get("tool.description")
    # CrewAI's description is a text about the tool, and its schema is rewritten before it is sent.
    is_composite = span.scope.name.endswith(".crewai")
    tool = ToolDefinition(
        name=name,
        description=description if isinstance(description, str) and not is_composite else None,
        parameters=schema if is_schema and not is_composite else None,
    )
    call_id = first_text(attributes, "tool_call.id", "tool.id")
    parts = (
        Call(name=name, arguments=first(attributes, "input.value"), id=call_id),
        Result(content=as_text(attributes.get("output.value")), call_id=call_id, name=name),
    )
    return PartialCall(
        role=Role.TOOL,
        tools=Found((tool,), f"{NAME}:tool.*", Trust.CONTEXT) if name else None,
        messages=Found((Message(role="tool", parts=parts),), f"{NAME}:tool span", Trust.CONTEXT),
    )


def _params(parameters: Mapping[str, Json]) -> Iterator[tuple[str, Found[Json]]]:
    for name, value in request_fields(parameters).items():
        if name not in ("model", "tools", "messages"):
            yield name, Found(value, f"{NAME}:llm.invocation_parameters", Trust.FLATTENED)


def _model(
    attributes: Attributes, parameters: Mapping[str, Json], body: Found[Body] | None, library: str
) -> Found[str] | None:
    if body is not None and isinstance(body.value.get("model"), str):
        return Found(body.value["model"], f"{NAME}:input.value", Trust.RAW)
    asked = as_text(parameters.get("model") or parameters.get("model_name"))
    if not asked:
        return _found(attributes, "llm.model_name") if library in _CONFIGURED_NAME else None
    # LiteLLM takes `provider/model` and sends `model`.
    prefix, _, rest = asked.partition("/")
    is_routed = bool(rest) and prefix == attributes.get("llm.provider")
    return Found(rest if is_routed else asked, f"{NAME}:llm.invocation_parameters", Trust.FLATTENED)


def _base_url(parameters: Mapping[str, Json]) -> Found[str] | None:
    url = as_text(first(parameters, "base_url", "api_base"))
    return Found(url, f"{NAME}:llm.invocation_parameters", Trust.FLATTENED) if url else None


def _replies(attributes: Attributes) -> Found[tuple[ModelReply, ...]] | None:
    output = parse_object(attributes.get("output.value"))
    replies = read_response(output) if output is not None else ()
    if replies:
        return Found(replies, f"{NAME}:output.value", Trust.RAW)
    flat = read_output(attributes)
    return Found(flat, f"{NAME}:llm.output_messages", Trust.FLATTENED) if flat else None


def _response_id(attributes: Attributes) -> Found[str] | None:
    output = parse_object(attributes.get("output.value")) or {}
    value = as_text(output.get("id"))
    return Found(value, f"{NAME}:output.value", Trust.RAW) if value else None


def _usage(attributes: Attributes) -> Found[Usage] | None:
    usage = Usage(
        input_tokens=as_int(attributes.get("llm.token_count.prompt")),
        output_tokens=as_int(attributes.get("llm.token_count.completion")),
        cached_input_tokens=as_int(attributes.get("llm.token_count.prompt_details.cache_read")),
        reasoning_tokens=as_int(attributes.get("llm.token_count.completion_details.reasoning")),
        cost_usd=as_float(attributes.get("llm.cost.total")),
    )
    return Found(usage, f"{NAME}:llm.token_count", Trust.FLATTENED) if usage != Usage() else None
