"""What the stand-in model takes from a chat request: who said what, which tools there are, what they gave back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A tool message together with the call it answers."""

    tool: str
    """Empty when the history no longer holds the call."""
    arguments: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A chat request as a reader sees it."""

    system: str
    user: str
    said: str = ""
    """What the model itself said before."""
    results: tuple[ToolResult, ...]
    tools: Mapping[str, str]
    """Name → description of the tools that can be called."""

    @property
    def content(self) -> str:
        """What the tools gave back, all of it."""
        return "\n".join(result.text for result in self.results)

    def results_of(self, *tools: str) -> tuple[ToolResult, ...]:
        """Returns the results of these tools, in order."""
        return tuple(result for result in self.results if result.tool in tools)

    def text_of(self, tool: str) -> str:
        """Returns everything that one tool gave back."""
        return "\n".join(result.text for result in self.results_of(tool))


def read(request: Mapping[str, Any]) -> Reading:
    """Reads an OpenAI chat request. Raises KeyError, TypeError or AttributeError when it is not one."""
    messages: Sequence[Mapping[str, Any]] = request["messages"]
    calls = {
        call["id"]: call["function"] for message in messages for call in message.get("tool_calls") or () if "id" in call
    }
    functions = [tool["function"] for tool in request.get("tools") or () if tool.get("type") == "function"]
    return Reading(
        system=_said_by(messages, "system", "developer"),
        user=_said_by(messages, "user"),
        said=_said_by(messages, "assistant"),
        results=tuple(_results(messages, calls)),
        tools={function["name"]: function.get("description") or "" for function in functions},
    )


def _said_by(messages: Sequence[Mapping[str, Any]], *roles: str) -> str:
    return "\n".join(_text(message.get("content")) for message in messages if message["role"] in roles)


def _results(messages: Sequence[Mapping[str, Any]], calls: Mapping[str, Mapping[str, Any]]) -> Iterator[ToolResult]:
    for message in messages:
        if message["role"] == "tool":
            call = calls.get(message.get("tool_call_id", ""), {})
            arguments = _arguments(call.get("arguments", ""))
            yield ToolResult(tool=call.get("name", ""), arguments=arguments, text=_text(message.get("content")))


def _text(content: Any) -> str:
    """Returns the text of a message, given as a string or as a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def sentences(text: str) -> list[str]:
    """Splits at line ends and after `.`, `!`, `?` and `;` before a blank: near enough for keyword rules."""
    return [piece for piece in re.split(r"\n|(?<=[.!?;])\s+", text) if piece.strip()]
