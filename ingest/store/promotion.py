"""Columns that SQL should not have to dig for: model, tokens, tools called, session, as one span tells them.

Best effort over the conventions in use, looking at a single span and its events. Nothing is computed that was not
recorded, and nothing here decides about replay: the dialects read the full attributes for that.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from ..spans import AnyValue

Found: TypeAlias = Mapping[str, AnyValue]
"""The attributes of a span that `is_relevant` let through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The promoted columns; None where the span does not say."""

    operation: str | None = None
    """What the span does, in OTel's words: chat, execute_tool, invoke_agent, embeddings, …"""
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    finish_reason: str | None = None
    """As recorded: conventions spell it differently."""
    tool_names: tuple[str, ...] = ()
    """Tools that the reply calls, each once, in order."""
    tool_name: str | None = None
    """The tool that this span executes."""
    session_id: str | None = None
    user_id: str | None = None
    error_type: str | None = None
    has_content: bool = False
    """The span itself carries message content."""


NOTHING = Promoted()

MODEL_OPERATIONS = ("chat", "generate_content", "text_completion")
"""Operations that are model calls."""

_FIRST_OF: Mapping[str, tuple[str, ...]] = {
    "provider": ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"),
    "request_model": ("gen_ai.request.model", "ai.model.id", "llm.request.model"),
    "response_model": (
        "gen_ai.response.model", "ai.response.model", "llm.model_name", "langfuse.observation.model.name",
    ),
    "input_tokens": (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        "llm.usage.prompt_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
        "llm.usage.completion_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens",
    ),
    "cost_usd": ("gen_ai.usage.cost", "llm.cost.total", "operation.cost", "gen_ai.usage.total_cost"),
    "finish_reason": (
        "gen_ai.response.finish_reasons", "llm.finish_reason", "ai.response.finishReason",
        "gen_ai.completion.0.finish_reason", "gen_ai.choice.finish_reason",
    ),
    "tool_name": ("gen_ai.tool.name", "tool.name", "ai.toolCall.name"),
    "session_id": (
        "session.id", "gen_ai.conversation.id", "langfuse.session.id", "langsmith.metadata.session_id",
        "traceloop.association.properties.session_id", "lmnr.association.properties.session_id",
    ),
    "user_id": (
        "user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id",
        "lmnr.association.properties.user_id",
    ),
    "error_type": ("error.type", "exception.type"),
}  # fmt: skip

_KIND_KEYS = (
    "gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type",
    "langfuse.observation.type", "langsmith.span.kind", "lmnr.span.type", "mlflow.spanType", "ai.operationId",
)  # fmt: skip
"""Attributes that say what a span does, the more telling first."""

_OPERATIONS = {
    "llm": "chat", "generation": "chat", "chat_model": "chat", "completion": "text_completion",
    "ai.generatetext.dogenerate": "chat", "ai.streamtext.dostream": "chat",
    "ai.generateobject.dogenerate": "chat", "ai.streamobject.dostream": "chat",
    "ai.generatetext": "invoke_agent", "ai.streamtext": "invoke_agent",
    "ai.generateobject": "invoke_agent", "ai.streamobject": "invoke_agent",
    "ai.toolcall": "execute_tool", "ai.embed.doembed": "embeddings", "ai.embedmany.doembed": "embeddings",
    "tool": "execute_tool", "agent": "invoke_agent", "workflow": "invoke_workflow", "embedding": "embeddings",
    "retriever": "retrieval", "evaluator": "evaluate",
}  # fmt: skip
"""Other words for OTel's operation names; a word not in the table stands for itself."""

_OUTPUTS = (
    "gen_ai.output.messages", "output.value", "langfuse.observation.output", "gen_ai.completion",
    "mlflow.spanOutputs", "ai.response.toolCalls", "response_data", "gen_ai.choice.message", "events",
)  # fmt: skip
"""Attributes that hold a reply as JSON, or as an AnyValue of the same shape."""
_CONTENT = frozenset((
    *_OUTPUTS, "input.value", "gen_ai.input.messages", "langfuse.observation.input", "gen_ai.prompt",
    "mlflow.spanInputs", "ai.prompt.messages", "request_data", "ai.response.text", "llm.openai.messages",
    "gen_ai.prompt.0.content",
))  # fmt: skip
_JSON_KEYS = ("llm.invocation_parameters", "langfuse.observation.usage_details", "langfuse.observation.cost_details")
_FLAT_PREFIXES = ("llm.output_messages.", "gen_ai.completion.")
_FLAT_SUFFIXES = (".tool_call.function.name", ".function_call.name")
_EXACT = frozenset((*(key for keys in _FIRST_OF.values() for key in keys), *_KIND_KEYS, *_CONTENT, *_JSON_KEYS))


def is_relevant(key: str) -> bool:
    """Tells whether `promote` wants to see an attribute."""
    return key in _EXACT or key.startswith(_FLAT_PREFIXES)


def promote(found: Found) -> Promoted:
    """Returns the promoted columns from the relevant attributes of one span (and of its events)."""
    if not found:
        return NOTHING
    operation = _operation(found)
    first = {column: _first(found, keys) for column, keys in _FIRST_OF.items()}
    is_model = operation in MODEL_OPERATIONS
    outputs = [_parsed(found.get(key)) for key in _OUTPUTS] if is_model else []
    usage = _mapping(found.get("langfuse.observation.usage_details"))
    cost = _mapping(found.get("langfuse.observation.cost_details"))
    parameters = _mapping(found.get("llm.invocation_parameters"))
    return Promoted(
        operation=operation,
        provider=_text(first["provider"]),
        request_model=_text(first["request_model"]) or _text(parameters.get("model")),
        response_model=_text(first["response_model"]),
        input_tokens=_count(first["input_tokens"], usage.get("input")),
        output_tokens=_count(first["output_tokens"], usage.get("output")),
        cost_usd=_amount(first["cost_usd"], cost.get("total")),
        finish_reason=_reason(first["finish_reason"]) or next(_find_reasons(outputs), None),
        tool_names=_called_tools(found, outputs) if is_model else (),
        tool_name=_text(first["tool_name"]) if operation == "execute_tool" else None,
        session_id=_text(first["session_id"]),
        user_id=_text(first["user_id"]),
        error_type=_text(first["error_type"]),
        has_content=any(key in _CONTENT or key.startswith(_FLAT_PREFIXES) for key in found),
    )


def _operation(found: Found) -> str | None:
    word = _text(_first(found, _KIND_KEYS))
    if word is None:
        return None
    word = word.strip('"').lower()  # MLflow writes every value as JSON
    return _OPERATIONS.get(word, word)


def _first(found: Found, keys: Iterable[str]) -> AnyValue:
    return next((found[key] for key in keys if found.get(key) not in (None, "")), None)


def _text(value: AnyValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(*values: Any) -> int | None:
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value) if abs(value) < 2**53 else None
    return None


def _amount(*values: Any) -> float | None:
    numbers = (v for v in values if isinstance(v, int | float) and not isinstance(v, bool))
    return next((float(v) for v in numbers), None)


def _parsed(value: AnyValue) -> Any:
    """Returns JSON text as the value it stands for; anything else as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value if not isinstance(value, str) else None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None  # cut by a length limit, or not JSON at all: then this source says nothing


def _mapping(value: AnyValue) -> Mapping[str, Any]:
    parsed = _parsed(value)
    return parsed if isinstance(parsed, dict) else {}


def _reason(value: AnyValue) -> str | None:
    """Returns the first of several reasons, which some senders write as JSON text."""
    value = _parsed(value) if isinstance(value, str) and value.startswith("[") else value
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    return _text(value)


def _find_reasons(outputs: Iterable[Any]) -> Iterator[str]:
    for item in _walk(outputs):
        for key in ("finish_reason", "stop_reason", "finishReason", "stopReason"):
            if isinstance(item.get(key), str):
                yield item[key]


def _called_tools(found: Found, outputs: Iterable[Any]) -> tuple[str, ...]:
    flat = [_text(v) for k, v in found.items() if k.startswith(_FLAT_PREFIXES) and _is_call_name(k)]
    names = [name for name in flat if name] or [name for item in _walk(outputs) if (name := _tool_call(item))]
    return tuple(dict.fromkeys(names))


def _is_call_name(key: str) -> bool:
    return key.endswith(_FLAT_SUFFIXES) or (".tool_calls." in key and key.endswith(".name"))


def _walk(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every object inside a parsed reply, outer before inner."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            yield item
            stack += reversed(list(item.values()))
        elif isinstance(item, list | tuple):
            stack += reversed([i for i in item if not _is_history(i)])


def _is_history(item: Any) -> bool:
    """Tells an earlier message in a list that holds request and reply alike (pydantic-ai's `events`)."""
    return isinstance(item, Mapping) and str(item.get("event.name", "gen_ai.choice")) != "gen_ai.choice"


def _tool_call(item: Mapping[str, Any]) -> str | None:
    """Returns the tool's name if the object is a tool call in any provider's form."""
    for key in ("function", "toolUse", "functionCall", "function_call"):
        inner = item.get(key)
        if isinstance(inner, Mapping) and ("arguments" in inner or "input" in inner or "args" in inner):
            return _text(inner.get("name"))
    if item.get("type") in ("tool_call", "tool_use", "function_call", "tool-call"):
        return _text(item.get("name")) or _text(item.get("toolName"))
    return _text(item.get("toolName")) if "toolCallId" in item else None
