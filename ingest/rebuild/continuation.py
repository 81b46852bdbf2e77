"""Requests that go on from an earlier one: lists that were cut off, and calls that name the response before them.

A cut list is completed as far as the run tells: the earlier call with the same beginning, what it was answered, and a
result for every tool call, since no API takes a call without one. The contents of those results stay lost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..calls import ModelReply
from ..dialects.dialogue import Call, Message, Part, Result, Text
from ..dialects.partial import Found, PartialCall, Trust
from .repair import History

CUT_LIST = re.compile(r"messages\[\d+:\]")
"""The name of a gap that runs to the end of the list."""


def name_predecessor(call: PartialCall, history: History) -> PartialCall:
    """Returns a Responses API call with the `previous_response_id` that its first tool result proves.

    Such a request holds only what is new: results of calls that are in no message of it, but in an earlier answer.
    """
    if call.messages is None or call.body is not None or "previous_response_id" in call.params:
        return call
    made = {p.id for m in call.messages.value for p in m.parts if isinstance(p, Call)}
    results = [p for m in call.messages.value for p in m.parts if isinstance(p, Result)]
    reply = next((history.replies[r.call_id] for r in results if r.call_id in history.replies), None)
    if reply is None or not reply.id or any(r.call_id in made for r in results):
        return call
    found = Found(reply.id, "earlier reply whose tool calls are answered here", Trust.CONTEXT)
    return replace(call, params={**call.params, "previous_response_id": found})


def complete_cut_list(call: PartialCall, earlier: Sequence[PartialCall]) -> PartialCall:
    """Returns a call whose messages were cut off with what earlier calls of the run tell about the rest."""
    found = call.messages
    if found is None or not any(CUT_LIST.match(gap.name) for gap in found.gaps):
        return call
    messages, source = found.value, found.source
    alike = (e for e in reversed(earlier) if e.messages and e.messages.value[: len(messages)] == messages)
    previous = next(alike, None)
    if previous is not None and previous.messages is not None and previous.replies is not None:
        messages = (*previous.messages.value, _turn(previous.replies.value[0]))
        source = f"{source}, continued from the call before"
    completed = (*messages, *_lost_results(messages))
    return call if completed == found.value else replace(call, messages=replace(found, value=completed, source=source))


def _turn(reply: ModelReply) -> Message:
    texts: tuple[Part, ...] = (Text(text=reply.text),) if reply.text else ()
    calls = (Call(name=c.name, arguments=c.arguments, id=c.id) for c in reply.tool_calls)
    return Message(role="assistant", parts=(*texts, *calls))


def _lost_results(messages: Sequence[Message]) -> Iterator[Message]:
    answered = {p.call_id for m in messages for p in m.parts if isinstance(p, Result)}
    for message in messages:
        for part in message.parts:
            if isinstance(part, Call) and part.id and part.id not in answered:
                yield Message(role="tool", parts=(Result(content=None, call_id=part.id),))
