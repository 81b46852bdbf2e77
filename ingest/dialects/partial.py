"""What one span says about a model call, field by field, with the place each field was read from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Generic, TypeAlias, TypeVar

from ..calls import Api, Body, Json, MissingField, ModelReply, Usage
from ..spans import LogRecord, Span
from .dialogue import Message, ToolDefinition

T = TypeVar("T")


class Trust(IntEnum):
    """How faithful a place is, best first; merging takes the lowest number."""

    RAW = 0
    """The request as JSON, verbatim."""
    STRUCTURED = 1
    """One attribute holding all messages in the convention's own schema."""
    FLATTENED = 2
    """One attribute a message, a part, or a field; count limits drop some of them."""
    EVENTS = 3
    """One log record or span event a message."""
    CONTEXT = 4
    """Another span: an agent, a tool, an earlier call."""


class Role(Enum):
    """What a span is in the story of a model call."""

    CALL = "call"
    """It stands for one request to a model."""
    AGENT = "agent"
    """It encloses calls, and may hold their tools and parameters."""
    TOOL = "tool"
    """It is the execution of a tool."""
    PREPARATION = "preparation"
    """It builds the arguments of the call that follows under the same parent."""
    ECHO = "echo"
    """It repeats a call that another span reports, at the end of a stream."""
    TRANSPORT = "transport"
    """It is the HTTP exchange under a call."""


class Loss(Enum):
    """What a convention is known to drop from the messages it records."""

    ASSISTANT_TEXT = "the text of an assistant message that also calls tools"
    USER_NAME = "the names of user messages"
    ASSISTANT_CALLS = "the tool calls of earlier assistant messages"


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A value and where it was."""

    value: T
    source: str
    """Dialect and key, e.g. `semconv:gen_ai.input.messages`."""
    trust: Trust
    gaps: tuple[MissingField, ...] = ()
    """What is lost or damaged inside this value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialCall:
    """What a dialect read from one span; None and absence both mean that the span does not say."""

    role: Role = Role.CALL
    api: Found[Api] | None = None
    body: Found[Body] | None = None
    """The whole request in the provider's own form."""
    messages: Found[tuple[Message, ...]] | None = None
    system: Found[tuple[Message, ...]] | None = None
    """Instructions that the convention keeps apart from the messages."""
    tools: Found[tuple[ToolDefinition, ...]] | None = None
    params: Mapping[str, Found[Json]] = field(default_factory=dict)
    """Request parameters, by the provider's or the convention's name."""
    model: Found[str] | None = None
    provider: Found[str] | None = None
    base_url: Found[str] | None = None
    replies: Found[tuple[ModelReply, ...]] | None = None
    usage: Found[Usage] | None = None
    response_id: Found[str] | None = None
    session_id: Found[str] | None = None
    agent: Found[str] | None = None
    retracted: Mapping[str, str] = field(default_factory=dict)
    """Parameters that another dialect reads from this span and that were not sent as they stand → the reason."""
    losses: frozenset[Loss] = frozenset()
    """Pieces of the history that this convention drops; earlier calls of the run may still have them."""
    unrecorded: frozenset[str] = frozenset()
    """Request fields for which the convention has no place, so that their absence means nothing."""
    content_switch: str = ""
    """What turns content capture on, when this span was written with it off."""


Dialect: TypeAlias = Callable[[Span, Sequence[LogRecord]], PartialCall | None]
"""A span and the log records that carry its id → what they say; None when the span is not in this dialect."""
