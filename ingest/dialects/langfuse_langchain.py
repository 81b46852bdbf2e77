"""Messages as Langfuse's LangChain handler writes them: tool definitions stand at the end as messages of role `tool`.

Source: langfuse-python, `langfuse/langchain/CallbackHandler.py`. Tool calls are in `additional_kwargs` (the provider's
form) or in `tool_calls` (LangChain's form: `{name, args, id, type: "tool_call"}`), or in both.
"""

from collections.abc import Mapping, Sequence

from ..calls import Json
from .shapes import Object

_DEFINING = ("function", "parameters", "input_schema")
"""Keys that tool definitions have, OpenAI's and Anthropic's, and results do not."""


def is_handler_input(messages: Sequence[Json]) -> bool:
    """Tells the handler's list of messages from that of an OpenAI request."""
    return any(
        not isinstance(m, Mapping) or "additional_kwargs" in m or _definition(m) is not None or _has_parsed_calls(m)
        for m in messages
    )


def _has_parsed_calls(message: Object) -> bool:
    calls = message.get("tool_calls")
    return any(not isinstance(c, Mapping) or "function" not in c for c in (calls if isinstance(calls, list) else ()))


def split_input(messages: Sequence[Json]) -> tuple[list[Object], list[Object]]:
    """Returns (messages, tool definitions)."""
    objects = [m for m in messages if isinstance(m, Mapping)]
    definitions = [d for m in objects if (d := _definition(m)) is not None]
    return [lift_calls(m) for m in objects if _definition(m) is None], definitions


def lift_calls(message: Object) -> Object:
    """Returns a message with its tool calls where every other convention has them, and without LangChain's extras."""
    extras = message.get("additional_kwargs")
    if not isinstance(extras, Mapping):
        return message
    rest = {key: value for key, value in message.items() if key != "additional_kwargs"}
    # The provider's form comes first: its arguments are the string that the model wrote.
    calls = extras.get("tool_calls") or message.get("tool_calls")
    return {**rest, "tool_calls": calls} if calls else rest


def _definition(message: Object) -> Object | None:
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, Mapping):
        return None
    return content if any(isinstance(content.get(key), Mapping) for key in _DEFINING) else None
