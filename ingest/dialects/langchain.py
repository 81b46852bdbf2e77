"""LangChain's serialised messages and results: `{"lc": 1, "type": "constructor", "id": […], "kwargs": {…}}`.

Source: langchain-core, `load/serializable.py`. Several instrumentations store this dump where others store a request.
"""

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from ..calls import Json, ModelReply
from ..spans import AnyValue, Attributes
from .answers import reply_of
from .dialogue import Call, Message, Result
from .partial import Found, Trust
from .shapes import Object, read_parts, read_result_content
from .values import as_text, parse_json, to_json

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


def is_dump(raw: Json) -> TypeGuard[list[Json]]:
    """Tells whether a value is a list of dumped messages, or LangChain's list of such lists."""
    inner = raw[0] if isinstance(raw, list) and raw and isinstance(raw[0], list) else raw
    return isinstance(inner, list) and bool(inner) and all(_kwargs(m) is not None for m in inner)


def read_dump(raw: list[Json]) -> tuple[Message, ...]:
    """Returns the messages of a dump; of a batch, those of the first prompt."""
    inner = raw[0] if isinstance(raw[0], list) else raw
    return tuple(_message(m) for m in inner)


def _kwargs(raw: Json) -> Object | None:
    """Returns a message's fields: of the constructor form, or of the plain form that pydantic dumps."""
    if not isinstance(raw, Mapping):
        return None
    if "lc" in raw:
        kwargs = raw.get("kwargs")
        return kwargs if isinstance(kwargs, Mapping) else None
    is_plain = "content" in raw and "role" not in raw and raw.get("type") in _ROLES
    return raw if is_plain else None


def _message(raw: Json) -> Message:
    kwargs = _kwargs(raw) or {}
    role = _ROLES.get(_kind(raw, kwargs), _kind(raw, kwargs))
    content = kwargs.get("content")
    if role == "tool":
        result = Result(
            content=read_result_content(content),
            call_id=as_text(kwargs.get("tool_call_id")),
            name=as_text(kwargs.get("name")),
        )
        return Message(role="tool", parts=(result,))
    calls = tuple(_calls(kwargs))
    parts = [p for p in read_parts(content) if not isinstance(p, Call)]
    if calls and content == "":
        parts = []
    return Message(
        role=role, parts=(*parts, *calls), name=as_text(kwargs.get("name")), is_plain=isinstance(content, str)
    )


def _kind(raw: Json, kwargs: Object) -> str:
    kind = as_text(kwargs.get("type"))
    if kind:
        return kind.lower()
    path = raw.get("id") if isinstance(raw, Mapping) else None
    name = as_text(path[-1]) if isinstance(path, list) and path else ""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def _calls(kwargs: Object) -> Iterator[Call]:
    """Yields the tool calls; `additional_kwargs` has the argument string that LangChain parsed, where it kept it."""
    extra = kwargs.get("additional_kwargs")
    raw = extra.get("tool_calls") if isinstance(extra, Mapping) else None
    verbatim: dict[str, Json] = {}
    for item in raw if isinstance(raw, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("function"), Mapping):
            verbatim[as_text(item.get("id"))] = item["function"].get("arguments")
    calls = kwargs.get("tool_calls")
    for item in calls if isinstance(calls, list) else ():
        if isinstance(item, Mapping):
            call_id = as_text(item.get("id"))
            yield Call(name=as_text(item.get("name")), arguments=verbatim.get(call_id, item.get("args")), id=call_id)


_LS_SETTINGS = {"ls_temperature": "temperature", "ls_max_tokens": "max_tokens", "ls_stop": "stop"}
_BOOKKEEPING = frozenset({"user", "metadata", "provider", "model", "model_name", "tools", "messages"})
"""Names that a user's own run metadata may have as well as a request."""


def read_metadata(attributes: Attributes, prefix: str) -> tuple[str, dict[str, Found[Json]]]:
    """Returns the model and the settings that LangChain puts into a run's metadata.

    `ls_*` are its standard tracing parameters; with `_type` the model's own parameters stand beside them.
    """
    settings: dict[str, Found[Json]] = {}
    has_parameters = f"{prefix}_type" in attributes
    for key, value in attributes.items():
        name = key.removeprefix(prefix) if key.startswith(prefix) else ""
        name = _LS_SETTINGS.get(name, name if has_parameters and name not in _BOOKKEEPING else "")
        if name and value is not None:
            settings.setdefault(name, Found(_opened(value), key, Trust.STRUCTURED))
    if {"max_completion_tokens", "max_output_tokens"} & set(settings):
        settings.pop("max_tokens", None)
    return as_text(_opened(attributes.get(f"{prefix}ls_model_name"))), settings


def _opened(value: AnyValue) -> Json:
    parsed = parse_json(value) if isinstance(value, str) and value[:1] in '["{' else None
    return to_json(value) if parsed is None else parsed


def read_generations(raw: Object) -> tuple[ModelReply, ...]:
    """Returns the replies of an `LLMResult` dump; empty when it is none."""
    generations = raw.get("generations")
    first = generations[0] if isinstance(generations, list) and generations else None
    replies = []
    for item in first if isinstance(first, list) else ():
        if not isinstance(item, Mapping) or _kwargs(item.get("message")) is None:
            continue
        info = item.get("generation_info")
        finish = as_text(info.get("finish_reason")) if isinstance(info, Mapping) else ""
        replies.append(reply_of(_message(item["message"]), finish_reason=finish))
    return tuple(replies)
