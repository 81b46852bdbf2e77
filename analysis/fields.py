"""Where the texts of a request sit, and the few edits that need to know it: OpenAI chat requests so far.

Requests are never copied as a whole: an edit returns a new body that shares everything it did not change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..ingest.calls import Api, Body
from ..ingest.errors import NotReplayableError
from .attribution.problem import Role
from .canonical import canonical_arguments

Pointer: TypeAlias = tuple[str | int, ...]
"""A path into a request body, as in RFC 6901 but unescaped."""

REMOVED = "[removed]"
"""Stands where a whole message was removed that must stay for the request to be valid."""

REPLAYABLE = frozenset({Api.OPENAI_CHAT, Api.FUNCTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField:
    """One string of a request that the model reads."""

    pointer: Pointer
    text: str
    role: Role
    message: int
    """Index into the messages; -1 for tool definitions."""


def require_replayable(api: Api) -> None:
    """Raises NotReplayableError for an API that requests cannot be edited and sent for yet."""
    if api not in REPLAYABLE:
        known = ", ".join(sorted(a.value for a in REPLAYABLE))
        raise NotReplayableError(f"{api.value} requests cannot be replayed by this version", hint=f"it replays {known}")


def text_fields(body: Body) -> list[TextField]:
    """Returns every text the model reads, in the order it reads them: tool definitions, then the messages."""
    fields = [
        TextField(pointer=p, text=t, role=Role.TOOL_DEFINITION, message=-1)
        for i, tool in enumerate(body.get("tools") or ())
        for p, t in _descriptions(tool, ("tools", i))
    ]
    for index, message in enumerate(body.get("messages") or ()):
        role = _role(message["role"])
        at: Pointer = ("messages", index)
        content = message.get("content")
        if isinstance(content, str):
            fields.append(TextField(pointer=(*at, "content"), text=content, role=role, message=index))
        for n, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part.get("text"), str):
                pointer = (*at, "content", n, "text")
                fields.append(TextField(pointer=pointer, text=part["text"], role=role, message=index))
        for n, call in enumerate(message.get("tool_calls") or ()):
            pointer = (*at, "tool_calls", n, "function", "arguments")
            text = call.get("function", {}).get("arguments")
            if isinstance(text, str):
                fields.append(TextField(pointer=pointer, text=text, role=Role.CALL_ARGUMENTS, message=index))
    return fields


_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def _role(name: str) -> Role:
    if name not in _ROLES:
        raise NotReplayableError(f"a message has the role {name!r}", hint="known roles: " + ", ".join(_ROLES))
    return _ROLES[name]


def _descriptions(value: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "description" and isinstance(inner, str):
                yield (*at, key), inner
            else:
                yield from _descriptions(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _descriptions(inner, (*at, index))


def with_text(body: Body, changes: Sequence[tuple[Pointer, str]]) -> Body:
    """Returns the body with some strings replaced; unchanged branches are shared with the original."""
    copied: dict[Pointer, Any] = {(): dict(body)}
    for pointer, text in changes:
        for depth in range(1, len(pointer)):
            here = pointer[:depth]
            if here not in copied:
                parent, step = copied[here[:-1]], here[-1]
                copied[here] = parent[step] = type(parent[step])(parent[step])
        copied[pointer[:-1]][pointer[-1]] = text
    result: Body = copied[()]
    return result


def tidy(body: Body) -> Body:
    """Returns a body that the API accepts after texts were emptied.

    An emptied message goes away, unless something refers to it or needs it: tool results, calls and the last user
    message keep their place and say `[removed]`.
    """
    messages = body.get("messages") or []
    users = [i for i, m in enumerate(messages) if m["role"] == "user" and _has_text(m)]
    last_user = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
    kept = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if isinstance(content, list):
            parts = [p for p in content if p.get("text") != ""]
            message = message if len(parts) == len(content) else {**message, "content": parts}
        if _has_text(message) or (message.get("tool_calls") and content is None):
            kept.append(message)
        elif _role(message["role"]) is Role.TOOL or (index == last_user and not users):
            kept.append({**message, "content": REMOVED})
        elif message.get("tool_calls"):
            kept.append({**message, "content": None})
    if len(kept) == len(messages) and all(a is b for a, b in zip(kept, messages, strict=True)):
        return body
    return {**body, "messages": kept}


def _has_text(message: Body) -> bool:
    content = message.get("content")
    return bool(content.strip()) if isinstance(content, str) else bool(content)


def with_system_rule(body: Body, rule: str) -> Body:
    """Returns the body with a rule added at the end of the system prompt, or as one when there is none."""
    messages = list(body.get("messages") or ())
    for index, message in enumerate(messages):
        if _role(message["role"]) is Role.SYSTEM:
            content = message.get("content")
            joined = [*content, {"type": "text", "text": rule}] if isinstance(content, list) else f"{content}\n\n{rule}"
            messages[index] = {**message, "content": joined}
            break
    else:
        messages.insert(0, {"role": "system", "content": rule})
    return {**body, "messages": messages}


def with_system(body: Body, prompt: str) -> Body:
    """Returns the body with another system prompt in the place of all system messages."""
    messages = body.get("messages") or ()
    role = next((m["role"] for m in messages if _role(m["role"]) is Role.SYSTEM), "system")
    rest = [m for m in messages if _role(m["role"]) is not Role.SYSTEM]
    return {**body, "messages": [{"role": role, "content": prompt}, *rest]}


def system_prompt(body: Body) -> str:
    """Returns the text of the system messages, joined by blank lines."""
    return "\n\n".join(f.text for f in text_fields(body) if f.role is Role.SYSTEM)


def place_of(body: Body, pointer: Pointer) -> str:
    """Returns in words where a text sits, as in `the result of read_email`."""
    if pointer[0] == "tools":
        return f"the definition of the tool {body['tools'][pointer[1]].get('function', {}).get('name', pointer[1])}"
    message = body["messages"][pointer[1]]
    if "tool_calls" in pointer:
        return f"the arguments of an earlier call of {message['tool_calls'][pointer[3]]['function']['name']}"
    match _role(message["role"]):
        case Role.TOOL:
            return f"the result of {_tool_of(body, message)}"
        case Role.SYSTEM:
            return "the system prompt"
        case Role.USER:
            return "the user's words"
        case _:
            return "the model's own earlier words"


def _tool_of(body: Body, result: Body) -> str:
    asked = result.get("tool_call_id")
    calls = (c for m in body["messages"] for c in m.get("tool_calls") or () if c.get("id") == asked)
    names = [c["function"]["name"] for c in calls if "function" in c]
    return names[-1] if names else str(result.get("name") or "a tool")


def previous_calls(body: Body) -> frozenset[tuple[str, str]]:
    """Returns the (name, canonical arguments) of the tool calls that the history holds."""
    return frozenset(
        (call["function"]["name"], canonical_arguments(call["function"].get("arguments") or ""))
        for message in body.get("messages") or ()
        for call in message.get("tool_calls") or ()
        if "function" in call
    )
