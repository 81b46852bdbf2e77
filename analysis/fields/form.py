"""What an API's request form has to tell, so that every edit of a request can be written once for all APIs.

A form knows where the texts and the tools of a body are, and how to keep a body valid. It is pure and never sends
anything. Bodies are never copied as a whole: an edit returns a new body that shares everything it did not change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ...ingest.calls import Body, Json
from ..attribution.problem import Role

Pointer: TypeAlias = tuple[str | int, ...]
"""A path into a request body, as in RFC 6901 but unescaped."""

REMOVED = "[removed]"
"""Stands where a text was removed that must not be missing for the request to be valid."""
TOOLS_MESSAGE = -1
"""Message number of the tool definitions."""
SYSTEM_MESSAGE = -2
"""Message number of a system prompt that is no message of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField:
    """One place of a request that the model reads."""

    pointer: Pointer
    text: str
    """The string, or the JSON text of the value where `is_json`."""
    role: Role
    message: int
    """Index into the messages; TOOLS_MESSAGE or SYSTEM_MESSAGE outside of them."""
    tool: str = ""
    """The tool that a definition, result or call belongs to."""
    call_id: str = ""
    """The id of the call that a result answers or whose arguments these are: its tool span has the same."""
    is_json: bool = False
    """The place holds a JSON value instead of a string, such as the arguments object of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlace:
    """Where a tool is defined."""

    name: str
    pointer: Pointer
    """The object that has the `description`."""
    schema: Pointer
    """The JSON schema of the arguments, whether or not the body has one."""


class RequestForm(Protocol):
    """The request form of one API."""

    def texts(self, body: Body) -> Iterator[TextField]:
        """Yields what the model reads besides tool definitions, in reading order."""
        ...

    def tools(self, body: Body) -> Iterator[ToolPlace]:
        """Yields where tools are defined."""
        ...

    def tidy(self, body: Body, original: Body) -> Body:
        """Returns a body that the API accepts after texts of `original` were emptied; what is unchanged stays."""
        ...

    def with_system(self, body: Body, prompt: str) -> Body:
        """Returns the body with this system prompt in the place of all others."""
        ...

    def with_user_message(self, body: Body, text: str) -> Body:
        """Returns the body with another user message at the end."""
        ...

    def with_model_message(self, body: Body, text: str) -> Body:
        """Returns the body with another message of the model's own at the end."""
        ...


def value_at(body: Body, pointer: Pointer) -> Json:
    """Returns the value at a pointer; None when there is none."""
    value: Any = body
    for step in pointer:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def with_values(body: Body, changes: Iterable[tuple[Pointer, Json]]) -> Body:
    """Returns the body with some values replaced; unchanged branches are shared with the original."""
    copied: dict[Pointer, Any] = {(): dict(body)}
    for pointer, value in changes:
        for depth in range(1, len(pointer)):
            here = pointer[:depth]
            if here not in copied:
                parent, step = copied[here[:-1]], here[-1]
                copied[here] = parent[step] = type(parent[step])(parent[step])
        copied[pointer[:-1]][pointer[-1]] = value
    result: Body = copied[()]
    return result


def without_key(body: Body, key: str) -> Body:
    """Returns the body without one of its keys."""
    return {k: v for k, v in body.items() if k != key}


def same_items(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two lists hold the same objects."""
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
