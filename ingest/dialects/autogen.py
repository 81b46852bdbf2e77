"""AutoGen AgentChat under OpenInference: roles and names as AutoGen's client sends them.

Source: autogen-ext, `models/openai/_transformation`. The instrumentation calls the system role `developer`, keeps the
text beside tool calls as `thought` in the output only, and the name of a user message only in the agent's span.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..spans import LogRecord, Span
from . import openinference
from .dialogue import Message, Text
from .fields import SETTINGS
from .partial import Found, Loss, PartialCall, Role, Trust
from .values import as_text, parse_list, parse_object

NAME = "autogen"

_MESSAGE = re.compile(r"source='(?P<source>\w+)'.* content=(?P<content>'.*'|\".*\") type='TextMessage'", re.DOTALL)


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns messages and replies as AutoGen has them; None for other spans."""
    if not span.scope.name.endswith(".autogen_agentchat"):
        return None
    recorded = openinference.read(span, logs)
    if recorded is None:
        return None
    if recorded.role is Role.AGENT:
        named = tuple(_named_messages(span))
        return PartialCall(role=Role.AGENT, messages=_found(named, "input.value") if named else None)
    if recorded.role is not Role.CALL or recorded.messages is None:
        return None
    output = parse_object(span.attributes.get("output.value")) or {}
    thought = as_text(output.get("thought"))
    replies = recorded.replies
    if replies is not None and thought and len(replies.value) == 1 and not replies.value[0].text:
        replies = Found((replace(replies.value[0], text=thought),), f"{NAME}:output.value", Trust.STRUCTURED)
    messages = tuple(replace(m, role="system") if m.role == "developer" else m for m in recorded.messages.value)
    return PartialCall(
        messages=replace(_found(messages, "llm.input_messages"), gaps=recorded.messages.gaps),
        replies=replies,
        losses=frozenset({Loss.ASSISTANT_TEXT, Loss.USER_NAME}),
        unrecorded=SETTINGS | {"tool_choice", "message.name", "extra_body"},
    )


def _found(messages: tuple[Message, ...], key: str) -> Found[tuple[Message, ...]]:
    return Found(messages, f"{NAME}:{key}", Trust.STRUCTURED)


def _named_messages(span: Span) -> Iterator[Message]:
    """Yields the agent's text messages, which are recorded as Python prints them."""
    for printed in parse_list((parse_object(span.attributes.get("input.value")) or {}).get("messages")) or ():
        match = _MESSAGE.search(printed) if isinstance(printed, str) else None
        if match is None:
            continue
        try:
            text = ast.literal_eval(match["content"])
        except (ValueError, SyntaxError):
            continue
        yield Message(role="user", parts=(Text(text=text),), name=match["source"])
