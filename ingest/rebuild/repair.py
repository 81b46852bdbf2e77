"""Repairs the history in a request from what earlier calls of the run answered.

A model's answer comes back to it in the next request. Conventions that parse the arguments, or drop a piece of the
history, can be completed from the answer itself, found by the ids of its tool calls. Nothing is put in by position or
by likeness.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..calls import ModelReply, ToolCall
from ..dialects.dialogue import Call, Message, Part, Result, Text
from ..dialects.partial import Loss, PartialCall
from ..dialects.values import parse_json


@dataclass
class History:
    """What the models of a run have answered so far, by the ids of the tool calls."""

    calls: dict[str, ToolCall] = field(default_factory=dict)
    replies: dict[str, ModelReply] = field(default_factory=dict)

    def add(self, replies: Sequence[ModelReply]) -> None:
        """Remembers the answers of one call."""
        for reply in replies:
            for call in reply.tool_calls:
                if call.id:
                    self.calls[call.id] = call
                    self.replies[call.id] = reply


def repair_history(call: PartialCall, history: History) -> PartialCall:
    """Returns the call with its messages completed from earlier answers; the source tells which pieces were."""
    if call.messages is None:
        return call
    messages = call.messages.value
    if Loss.ASSISTANT_CALLS in call.losses:
        messages = tuple(_with_calls(messages, history))
    if Loss.ASSISTANT_TEXT in call.losses:
        messages = tuple(_with_text(m, history) for m in messages)
    messages = tuple(_with_argument_strings(m, history) for m in messages)
    messages = tuple(_with_result_ids(_with_joined_ids(messages)))
    if messages == call.messages.value:
        return call
    source = f"{call.messages.source}, completed from earlier replies"
    return replace(call, messages=replace(call.messages, value=messages, source=source))


def name_users(call: PartialCall, agents: Sequence[PartialCall]) -> PartialCall:
    """Returns the call with the names of user messages, which only the agent's span has, found by the same text."""
    if call.messages is None or Loss.USER_NAME not in call.losses:
        return call
    names = {_text_of(m): m.name for a in agents if a.messages is not None for m in a.messages.value if m.name}
    messages = tuple(
        replace(m, name=names.get(_text_of(m), "")) if m.role == "user" and not m.name else m
        for m in call.messages.value
    )
    return replace(call, messages=replace(call.messages, value=messages))


def _with_argument_strings(message: Message, history: History) -> Message:
    """Returns the message with arguments as the model wrote them, where the parsed value is the same."""
    parts = tuple(_verbatim(p, history) for p in message.parts)
    return message if parts == message.parts else replace(message, parts=parts)


def _verbatim(part: Part, history: History) -> Part:
    if not isinstance(part, Call) or isinstance(part.arguments, str):
        return part
    written = history.calls.get(part.id)
    if written is None or written.name != part.name or parse_json(written.arguments) != part.arguments:
        return part
    return replace(part, arguments=written.arguments)


def _with_result_ids(messages: Sequence[Message]) -> Iterator[Message]:
    """Yields the messages with the ids of tool results that have none: as many as calls, in the order of the calls."""
    for turn in _turns(messages):
        made = [p.id for m in turn[:1] for p in m.parts if isinstance(p, Call) and p.id]
        results = [p for m in turn[1:] for p in m.parts if isinstance(p, Result)]
        if not made or len(results) != len(made) or any(r.call_id for r in results):
            yield from turn
            continue
        ids = iter(made)
        yield turn[0]
        for m in turn[1:]:
            parts = (replace(p, call_id=next(ids)) if isinstance(p, Result) else p for p in m.parts)
            yield replace(m, parts=tuple(parts))


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yields each message together with the tool messages after it."""
    turn: list[Message] = []
    for message in messages:
        if turn and message.role != "tool":
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _with_joined_ids(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Returns the messages with item ids (`fc_…`) of tool calls replaced by the call ids that their results name.

    The Responses API gives a call two ids; an instrumentation that records the wrong one leaves results that answer
    nothing. Results come in the order of the calls, so they are joined only when there are as many of both.
    """
    calls = [p for m in messages for p in m.parts if isinstance(p, Call)]
    results = [p.call_id for m in messages for p in m.parts if isinstance(p, Result)]
    wrong = [c.id for c in calls if c.id.startswith("fc_") and c.id not in results]
    made = {c.id for c in calls}
    unanswered = [i for i in results if i not in made]
    if not wrong or len(wrong) != len(unanswered):
        return messages
    right = dict(zip(wrong, unanswered, strict=True))
    return tuple(
        replace(m, parts=tuple(replace(p, id=right.get(p.id, p.id)) if isinstance(p, Call) else p for p in m.parts))
        for m in messages
    )


def _with_text(message: Message, history: History) -> Message:
    calls = [p for p in message.parts if isinstance(p, Call)]
    if message.role != "assistant" or not calls or any(isinstance(p, Text) for p in message.parts):
        return message
    reply = history.replies.get(calls[0].id)
    if reply is None or not reply.text:
        return message
    return replace(message, parts=(Text(text=reply.text), *message.parts))


def _with_calls(messages: Sequence[Message], history: History) -> Iterator[Message]:
    """Yields the messages with the tool calls that their results answer, in the message that made them."""
    made = {p.id for m in messages for p in m.parts if isinstance(p, Call)}
    pending: Message | None = None
    for message in messages:
        reply = next((history.replies[i] for i in _answered(message) if i not in made and i in history.replies), None)
        if reply is None:
            if pending is not None:
                yield pending
            pending = message
            continue
        made |= {c.id for c in reply.tool_calls}
        calls = tuple(Call(name=c.name, arguments=c.arguments, id=c.id) for c in reply.tool_calls)
        if pending is not None and _is_text_of(pending, reply):
            yield replace(pending, parts=(*pending.parts, *calls))
        else:
            if pending is not None:
                yield pending
            yield Message(role="assistant", parts=calls)
        pending = message
    if pending is not None:
        yield pending


def _answered(message: Message) -> list[str]:
    return [p.call_id for p in message.parts if isinstance(p, Result) and p.call_id]


def _is_text_of(message: Message, reply: ModelReply) -> bool:
    return message.role == "assistant" and bool(reply.text) and _text_of(message) == reply.text


def _text_of(message: Message) -> str:
    return "".join(p.text for p in message.parts if isinstance(p, Text))
