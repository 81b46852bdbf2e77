"""Columns that SQL should not have to dig for: model, tokens, tools called, session, as one span tells them.

Best effort over the conventions in use, looking at a single span and its events. Nothing is computed that was not
recorded, and nothing here decides about replay: the dialects read the full attributes for that.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import orjson

from ..spans import AnyValue
from .outputs import FLAT_PREFIXES, TEXT_LENGTH, Called, find_calls, find_finish_reason, find_text, objects_in

Found: TypeAlias = Mapping[str, AnyValue]
"""The attributes of a span that `is_relevant` let through."""


class Promoted(NamedTuple):
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
    tool_calls: tuple[Called, ...] = ()
    """What the reply calls, in order."""
    reply_text: str | None = None
    """The beginning of what the reply says."""
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
_INPUTS = frozenset((
    "input.value", "gen_ai.input.messages", "langfuse.observation.input", "gen_ai.prompt", "mlflow.spanInputs",
    "ai.prompt.messages", "request_data", "llm.openai.messages", "gen_ai.prompt.0.content",
))  # fmt: skip
_CONTENT = _INPUTS | {*_OUTPUTS, "ai.response.text"}
_JSON_KEYS = ("llm.invocation_parameters", "langfuse.observation.usage_details", "langfuse.observation.cost_details")
_RANKED = {
    key: (column, rank)
    for column, keys in {**_FIRST_OF, "operation": _KIND_KEYS}.items()
    for rank, key in enumerate(keys)
}
_NUMBERS, _LISTS = (int, float), (list, tuple)
_EXACT = frozenset((*_RANKED, *_CONTENT, *_JSON_KEYS))


@lru_cache(maxsize=4096)
def is_relevant(key: str) -> bool:
    """Tells whether `promote` wants to see an attribute."""
    return key in _EXACT or key.startswith(FLAT_PREFIXES)


def is_long_input(key: str) -> bool:
    """Tells whether `promote` only wants to know that an attribute is there: its value may be left out."""
    return key in _INPUTS


class _Plan(NamedTuple):
    """Where to look in a span, by the keys that it has: few combinations of keys are in use."""

    ranked: tuple[tuple[str, tuple[str, ...]], ...]
    """Columns, and the attributes that tell each, the more telling first."""
    outputs: tuple[str, ...]
    plain: tuple[str, ...]
    """What may hold the reply in words."""
    flat: tuple[str, ...]
    has_content: bool


@lru_cache(maxsize=1024)
def _plan(keys: tuple[str, ...]) -> _Plan:
    ranked: dict[str, list[str]] = {}
    for key in sorted(filter(_RANKED.__contains__, keys), key=lambda key: _RANKED[key][1]):
        ranked.setdefault(_RANKED[key][0], []).append(key)
    flat = tuple(key for key in keys if key.startswith(FLAT_PREFIXES))
    return _Plan(
        ranked=tuple((column, tuple(names)) for column, names in ranked.items()),
        outputs=tuple(key for key in _OUTPUTS if key in keys),
        plain=tuple(key for key in ("ai.response.text", *_OUTPUTS) if key in keys),
        flat=flat,
        has_content=bool(flat) or not _CONTENT.isdisjoint(keys),
    )


def promote(found: Found) -> Promoted:
    """Returns the promoted columns from the relevant attributes of one span (and of its events)."""
    if not found:
        return NOTHING
    plan = _plan(tuple(found))
    first = _first(found, plan).get
    operation = _operation(first("operation"))
    is_model = operation in MODEL_OPERATIONS
    outputs = [objects_in(_parsed(found[key])) for key in plan.outputs] if is_model else []
    flat = {key: found[key] for key in plan.flat}
    usage = _mapping(found.get("langfuse.observation.usage_details"))
    cost = _mapping(found.get("langfuse.observation.cost_details"))
    return Promoted(
        operation=operation,
        provider=_text(first("provider")),
        request_model=_text(first("request_model"))
        or _text(_mapping(found.get("llm.invocation_parameters")).get("model")),
        response_model=_text(first("response_model")),
        input_tokens=_count(first("input_tokens"), usage.get("input")),
        output_tokens=_count(first("output_tokens"), usage.get("output")),
        cost_usd=_amount(first("cost_usd"), cost.get("total")),
        finish_reason=_reason(first("finish_reason")) or find_finish_reason(outputs),
        tool_calls=find_calls(flat, outputs),
        reply_text=(find_text(flat, outputs) or _plain_text(found, plan.plain)) if is_model else None,
        tool_name=_text(first("tool_name")) if operation == "execute_tool" else None,
        session_id=_text(first("session_id")),
        user_id=_text(first("user_id")),
        error_type=_text(first("error_type")),
        has_content=plan.has_content,
    )


def _first(found: Found, plan: _Plan) -> dict[str, AnyValue]:
    """Returns column → the value of its most telling attribute that says something."""
    first: dict[str, AnyValue] = {}
    for column, keys in plan.ranked:
        for key in keys:
            value = found[key]
            if value is not None and value != "":
                first[column] = value
                break
    return first


def _operation(value: AnyValue) -> str | None:
    word = _text(value)
    if word is None:
        return None
    word = word.strip('"').lower()  # MLflow writes every value as JSON
    return _OPERATIONS.get(word, word)


def _text(value: AnyValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(*values: Any) -> int | None:
    for value in values:
        if isinstance(value, _NUMBERS) and not isinstance(value, bool):
            return int(value) if abs(value) < 2**53 else None
    return None


def _amount(*values: Any) -> float | None:
    numbers = (v for v in values if isinstance(v, _NUMBERS) and not isinstance(v, bool))
    return next((float(v) for v in numbers), None)


def _parsed(value: AnyValue) -> Any:
    """Returns JSON text as the value it stands for; anything else as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value if not isinstance(value, str) else None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None  # cut by a length limit, or not JSON at all: then this source says nothing


def _plain_text(found: Found, keys: Iterable[str]) -> str | None:
    """Returns what was said where a span gives the reply as words and not as JSON."""
    for key in keys:
        text = _text(found[key])
        if text and text[0] not in "{[":
            return text[:TEXT_LENGTH]
    return None


def _mapping(value: AnyValue) -> Mapping[str, Any]:
    parsed = _parsed(value) if value is not None else None
    return parsed if isinstance(parsed, dict) else {}


def _reason(value: AnyValue) -> str | None:
    """Returns the first of several reasons, which some senders write as JSON text."""
    value = _parsed(value) if isinstance(value, str) and value.startswith("[") else value
    if isinstance(value, _LISTS):
        value = value[0] if value else None
    return _text(value)
