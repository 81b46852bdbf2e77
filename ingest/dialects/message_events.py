"""One event a message: `gen_ai.user.message`, `gen_ai.choice`, … as log records, span events, or a list of objects.

Source: OpenTelemetry GenAI semantic conventions 1.28 to 1.36, gen-ai-events. botocore and openai-v2 send log records,
Strands sends span events whose content is a list of Bedrock blocks, pydantic-ai and Logfire keep the list in an
attribute.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..calls import Json, ModelReply
from ..spans import LogRecord, Span
from .answers import read_choice
from .dialogue import Call, Message, Part, Result
from .fields import NEVER_IN_SEMCONV, TOOLS
from .partial import Found, Loss, PartialCall, Trust
from .semconv import CAPTURE_SWITCH, role_of
from .shapes import read_message, read_tools
from .values import as_text, first_text, parse_json, parse_list, to_json

NAME = "message_events"

_CHOICE = "gen_ai.choice"
_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "developer", "user", "assistant", "tool")}


@dataclass(frozen=True, slots=True)
class _Event:
    name: str
    body: Mapping[str, Json]


def is_message(record: LogRecord) -> bool:
    """Tells whether a log record is a message of a request."""
    return event_name(record) in _ROLES


def is_choice(record: LogRecord) -> bool:
    """Tells whether a log record is an answer."""
    return event_name(record) == _CHOICE


def event_name(record: LogRecord) -> str:
    """Returns an event's name, which older SDKs keep in an attribute."""
    return record.event_name or as_text(record.attributes.get("event.name"))


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the messages and choices of a model call's events; None when it has none."""
    role = role_of(span)
    source, events = _events(span, logs)
    if not events:
        return None
    if role is None:
        return None
    # With capture off every event comes without content; with it on, an event without content is an empty message.
    has_content = any(e.body.get("content") is not None for e in events)
    tools = read_tools(tool for e in events for tool in _definitions(e))
    turns = [e for e in events if e.name in _ROLES and not _definitions(e)]
    read_messages = [_message(e) for e in turns] if has_content else []
    messages = _without_repeated_results(read_messages)
    replies = [r for e in events if e.name == _CHOICE for r in _choice(e)]
    if "anthropic" in first_text(span.attributes, "gen_ai.provider.name", "gen_ai.system").lower():
        replies = _one_answer(replies)
    model = first_text(span.attributes, "gen_ai.response.model")
    named = tuple(replace(r, model=model, id=first_text(span.attributes, "gen_ai.response.id")) for r in replies)
    is_openai_v2 = span.scope.name.endswith(".openai_v2")
    return PartialCall(
        role=role,
        messages=Found(messages, f"{NAME}:{source} gen_ai.*.message", Trust.EVENTS) if messages else None,
        tools=Found(tools, f"{NAME}:{source} with tools", Trust.EVENTS) if tools else None,
        replies=Found(named, f"{NAME}:{source} {_CHOICE}", Trust.EVENTS) if named else None,
        losses=frozenset({Loss.ASSISTANT_TEXT}) if is_openai_v2 else frozenset(),
        unrecorded=NEVER_IN_SEMCONV | {TOOLS},
        content_switch="" if messages else CAPTURE_SWITCH,
    )


def _events(span: Span, logs: Sequence[LogRecord]) -> tuple[str, list[_Event]]:
    """Returns the events and what carries them: the first carrier that has any."""
    carriers = (("log", _from_logs(logs)), ("span event", _from_span(span)), ("attribute", _from_list(span)))
    found = ((carrier, list(events)) for carrier, events in carriers)
    return next(((carrier, events) for carrier, events in found if events), ("", []))


def _from_logs(logs: Sequence[LogRecord]) -> Iterator[_Event]:
    ordered = sorted(logs, key=lambda r: r.time_ns) if all(r.time_ns for r in logs) else logs
    seen: list[LogRecord] = []
    for record in ordered:
        name = event_name(record)
        if (name in _ROLES or name == _CHOICE) and isinstance(record.body, Mapping):
            # Two imports of one file bring the same record twice; messages that are merely alike have their own time.
            if record.time_ns and any(r.time_ns == record.time_ns and r.body == record.body for r in seen):
                continue
            seen.append(record)
            yield _Event(name, to_json(record.body))


def _from_span(span: Span) -> Iterator[_Event]:
    for event in span.events:
        if event.name in _ROLES or event.name == _CHOICE:
            yield _Event(event.name, {key: _opened(value) for key, value in event.attributes.items()})


def _opened(value: Json) -> Json:
    parsed = parse_json(value) if isinstance(value, str) and value[:1] in "[{" else None
    is_blocks = isinstance(parsed, list) and bool(parsed) and all(isinstance(p, Mapping) for p in parsed)
    return parsed if is_blocks or (isinstance(parsed, Mapping) and "role" in parsed) else to_json(value)


def _from_list(span: Span) -> Iterator[_Event]:
    for key in ("events", "all_messages_events"):
        for item in parse_list(span.attributes.get(key)) or ():
            name = as_text(item.get("event.name")) if isinstance(item, Mapping) else ""
            if name in _ROLES or name == _CHOICE:
                yield _Event(name, item)


def _message(event: _Event) -> Message:
    body = {key: value for key, value in event.body.items() if key != "role" or value}
    message = read_message({"role": _ROLES[event.name], "content": None, **body})
    # An event of a tool's answer may name the tool, which the request does not.
    name = "" if message.role == "tool" else message.name
    return replace(message, parts=tuple(_without_repeated_calls(message)), name=name)


def _without_repeated_calls(message: Message) -> Iterator[Part]:
    """Yields the parts with each call once: Bedrock's events hold it as a block and as a tool call."""
    seen: set[str] = set()
    for part in message.parts:
        if isinstance(part, Call) and part.id:
            if part.id in seen:
                continue
            seen.add(part.id)
        yield part


def _without_repeated_results(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Returns the messages without the tool messages whose results a later user message holds as well."""
    native = {p.call_id for m in messages if m.role != "tool" for p in m.parts if isinstance(p, Result) and p.call_id}
    return tuple(
        m
        for m in messages
        if m.role != "tool" or not all(isinstance(p, Result) and p.call_id in native for p in m.parts)
    )


def _definitions(event: _Event) -> Sequence[Json]:
    """Returns the tool definitions that OpenLLMetry sends as a user message of its own."""
    content = event.body.get("content")
    tools = content.get("tools") if isinstance(content, Mapping) else None
    return tools if isinstance(tools, list) else ()


def _one_answer(replies: Sequence[ModelReply]) -> list[ModelReply]:
    """Returns the one answer that this API gives; OpenLLMetry sends a choice for each of its blocks."""
    if len(replies) < 2:
        return list(replies)
    calls = tuple(call for reply in replies for call in reply.tool_calls)
    text = "".join(reply.text for reply in replies)
    return [replace(replies[0], text=text, tool_calls=calls)]


def _choice(event: _Event) -> Iterator[ModelReply]:
    body = event.body
    message = body.get("message")
    if isinstance(message, list):
        message = {"role": "assistant", "content": message}
    beside = {k: body[k] for k in ("role", "content", "tool_calls") if k in body}
    if not isinstance(message, str):
        # OpenLLMetry keeps the tool calls beside the message, others have no message inside.
        message = {**beside, **message} if isinstance(message, Mapping) else beside
    yield read_choice({"message": message, "finish_reason": body.get("finish_reason")})
