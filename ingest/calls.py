"""A model call as the experiments need it: the provider-native request, the reply, and how complete both are.

The request stays in the provider's own form, because a replay is only worth something when it sends what was sent:
argument strings, parts, roles and parameter names are never normalised away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from .spans import SpanId, TraceId

Json: TypeAlias = Any
"""A parsed JSON value; requests are arbitrary JSON, so nothing narrower is true of them."""
Body: TypeAlias = Mapping[str, Json]
"""A provider-native JSON object."""


class Api(StrEnum):
    """Which wire format a request is in."""

    OPENAI_CHAT = "openai.chat"
    OPENAI_RESPONSES = "openai.responses"
    ANTHROPIC_MESSAGES = "anthropic.messages"
    GEMINI_GENERATE = "gemini.generate"
    BEDROCK_CONVERSE = "bedrock.converse"
    OLLAMA_CHAT = "ollama.chat"
    FUNCTION = "function"
    """A Python function stands for the model; its request is in OpenAI chat form."""


class Grade(StrEnum):
    """How far a rebuilt request can be trusted, best first."""

    EXACT = "exact"
    """The raw request was recorded; nothing had to be inferred."""
    SEMANTIC = "semantic"
    """Re-serialised, but every message, tool and parameter that the convention can carry is there."""
    PARTIAL = "partial"
    """Something that may matter is missing; `missing` names it."""
    NOT_REPLAYABLE = "not_replayable"
    """The messages themselves are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingField:
    """Something of the request that no span or log carries."""

    name: str
    """The field in the provider's words, e.g. `tool_choice`, `messages[3].content`, `tools`."""
    reason: str
    """Why it is missing, e.g. `attribute count limit: 170 dropped`."""
    remedy: str = ""
    """What to switch on, e.g. `OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000`; empty when nothing can be done."""

    def to_json(self) -> dict[str, str]:
        """Returns the form used by `whyspan calls --json`."""
        return {"name": self.name, "reason": self.reason, "remedy": self.remedy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """What is known about the fidelity of a rebuilt request."""

    grade: Grade
    missing: tuple[MissingField, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Field of the request → where it came from, e.g. `messages` → `openinference:input.value`."""

    def to_json(self) -> dict[str, Json]:
        """Returns the form used by `whyspan calls --json`."""
        return {
            "grade": self.grade.value,
            "missing": [m.to_json() for m in self.missing],
            "provenance": dict(self.provenance),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and money of one call; None where the instrumentation did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None

    def to_json(self) -> dict[str, int | float]:
        """Returns only what is known."""
        values = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_input_tokens": self.cached_input_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cost_usd": self.cost_usd,
        }
        return {k: v for k, v in values.items() if v is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call in a reply."""

    name: str
    arguments: str
    """The argument string as the model wrote it (JSON, usually); providers with argument objects are serialised."""
    id: str = ""

    def to_json(self) -> dict[str, str]:
        """Returns the form used by `whyspan calls --json`."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What the model answered, in a form that is the same for every provider."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    refusal: str = ""
    id: str = ""
    """The provider's id of the response."""
    model: str = ""
    """The model that the provider says has answered; may be more precise than the one asked for."""
    error: str = ""
    """The error type when the call failed."""

    def to_json(self) -> dict[str, Json]:
        """Returns the form used by `whyspan calls --json`."""
        return {
            "text": self.text,
            "tool_calls": [c.to_json() for c in self.tool_calls],
            "finish_reason": self.finish_reason,
            "refusal": self.refusal,
            "id": self.id,
            "model": self.model,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of a model, rebuilt from its spans and logs."""

    trace_id: TraceId
    span_id: SpanId
    api: Api
    request: Body
    """The provider-native body; empty when nothing of it was recorded."""
    replies: tuple[ModelReply, ...] = ()
    """One reply a choice; empty when the reply was not recorded."""
    completeness: Completeness
    usage: Usage = field(default_factory=Usage)
    start_ns: int
    end_ns: int
    request_model: str = ""
    """The model asked for; some APIs carry it in the URL, so `request` need not hold it."""
    provider: str = ""
    """`gen_ai.provider.name` or its older names, as recorded."""
    base_url: str = ""
    """Where the request went, when a span says so; never assumed."""
    service: str = ""
    """`service.name` of the sender."""
    session_id: str = ""
    """Conversation or session id, when recorded."""
    agent: str = ""
    """`gen_ai.agent.name` of the call or its nearest enclosing agent span."""

    def to_json(self) -> dict[str, Json]:
        """Returns the object that `whyspan calls --json` prints, a public contract."""
        return {
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "api": self.api.value,
            "model": self.request_model,
            "request": dict(self.request),
            "reply": self.replies[0].to_json() if self.replies else None,
            "completeness": self.completeness.to_json(),
            "usage": self.usage.to_json(),
        }
