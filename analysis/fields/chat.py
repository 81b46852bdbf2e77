"""OpenAI chat completions: messages with string or part content, arguments as strings.

Source: https://platform.openai.com/docs/api-reference/chat/create.
"""

from collections.abc import Iterator
from typing import Any

from ...ingest.calls import Body
from ...ingest.errors import NotReplayableError
from ..attribution.problem import Role
from .form import Pointer, TextField, ToolPlace
from .turns import TurnForm

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


class ChatForm(TurnForm):
    """The form of chat completions."""

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields message texts and call arguments."""
        tools = call_names(body)
        for index, message in enumerate(body.get("messages") or ()):
            role = role_of(message)
            tool = str(message.get("name") or tools.get(message.get("tool_call_id"), "")) if role is Role.TOOL else ""
            at: Pointer = ("messages", index)
            for pointer, text in _contents(message, at):
                yield TextField(
                    pointer=pointer, text=text, role=role, message=index, tool=tool,
                    call_id=str(message.get("tool_call_id") or ""),
                )  # fmt: skip
            for n, call in enumerate(message.get("tool_calls") or ()):
                yield from self._arguments(call, (*at, "tool_calls", n), index)

    def _arguments(self, call: Any, at: Pointer, message: int) -> Iterator[TextField]:
        for kind, key in (("function", "arguments"), ("custom", "input")):
            inner = call.get(kind) or {}
            if isinstance(inner.get(key), str):
                yield TextField(
                    pointer=(*at, kind, key), text=inner[key], role=Role.CALL_ARGUMENTS, message=message,
                    tool=str(inner.get("name", "")), call_id=str(call.get("id") or ""),
                )  # fmt: skip

    def tools(self, body: Body) -> Iterator[ToolPlace]:
        """Yields function and custom tools, and functions of the older form."""
        for index, tool in enumerate(body.get("tools") or ()):
            kind = "custom" if "custom" in tool else "function"
            if isinstance(tool.get(kind), dict):
                at: Pointer = ("tools", index, kind)
                yield ToolPlace(name=str(tool[kind].get("name", "")), pointer=at, schema=(*at, "parameters"))
        for index, tool in enumerate(body.get("functions") or ()):
            at = ("functions", index)
            yield ToolPlace(name=str(tool.get("name", "")), pointer=at, schema=(*at, "parameters"))

    def is_bound(self, turn: Body, previous: Body) -> bool:
        """Tool results answer a call; calls are answered."""
        return role_of(turn) is Role.TOOL or bool(turn.get("tool_calls") or turn.get("function_call"))

    def emptied(self, turn: Any, must_stay: bool) -> Any:
        """A turn that still calls tools has null content, as the API itself answers."""
        if turn.get("tool_calls") or turn.get("function_call"):
            return {**turn, "content": None}
        return super().emptied(turn, must_stay)

    def with_system(self, body: Body, prompt: str) -> Body:
        """Returns the body with one system message at the start."""
        messages = body.get("messages") or ()
        role = next((m["role"] for m in messages if role_of(m) is Role.SYSTEM), "system")
        rest = [m for m in messages if role_of(m) is not Role.SYSTEM]
        return {**body, "messages": [{"role": role, "content": prompt}, *rest]}


def role_of(message: Any) -> Role:
    """Returns the role of a message; NotReplayableError for one that the API does not have."""
    name = message.get("role")
    if name not in ROLES:
        raise NotReplayableError(f"a message has the role {name!r}", hint="known roles: " + ", ".join(ROLES))
    return ROLES[name]


def call_names(body: Body) -> dict[Any, str]:
    """Returns call id → tool name."""
    return {
        call.get("id"): str((call.get("function") or call.get("custom") or {}).get("name", ""))
        for message in body.get("messages") or ()
        for call in message.get("tool_calls") or ()
    }


def _contents(message: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    content = message.get("content")
    if isinstance(content, str):
        yield (*at, "content"), content
    for n, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part.get("text"), str):
            yield (*at, "content", n, "text"), part["text"]
