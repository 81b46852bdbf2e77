"""Logfire's wrappers of client libraries: the request in `request_data`, the answer in `response_data`.

Source: logfire, `_internal/integrations/llm_providers/`. Recent versions keep only the model there and use the
semantic conventions for the rest. When a stream ends, a second span without duration repeats the request and brings
the answer.
"""

from collections.abc import Mapping, Sequence

from ..calls import Json, ModelReply
from ..spans import LogRecord, Span
from .answers import argument_string, read_choice, read_usage
from .partial import Found, PartialCall, Role, Trust
from .requests import is_request, request_fields
from .values import as_text, first_text, parse_json, parse_object

NAME = "logfire"

_REQUEST = "request_data"
_RESPONSE = "response_data"


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns what a wrapper's span says; None for spans without a request that has messages."""
    if "logfire.msg_template" not in span.attributes:
        return None
    body = parse_object(span.attributes.get(_REQUEST)) or {}
    is_end_of_stream = first_text(span.attributes, "logfire.span_type") == "log" and bool(body)
    if not is_request(body):
        return PartialCall(role=Role.ECHO) if is_end_of_stream else None
    response = parse_object(span.attributes.get(_RESPONSE)) or {}
    replies = _replies(response)
    usage = response.get("usage")
    read = read_usage(usage) if isinstance(usage, Mapping) else None
    model = as_text(body.get("model"))
    return PartialCall(
        role=Role.ECHO if is_end_of_stream else Role.CALL,
        body=Found(request_fields(body), f"{NAME}:{_REQUEST}", Trust.RAW),
        model=Found(model, f"{NAME}:{_REQUEST}", Trust.RAW) if model else None,
        replies=Found(replies, f"{NAME}:{_RESPONSE}", Trust.RAW) if replies else None,
        usage=Found(read, f"{NAME}:{_RESPONSE}", Trust.RAW) if read else None,
    )


def _replies(response: Mapping[str, Json]) -> tuple[ModelReply, ...]:
    message = response.get("message")
    if isinstance(message, Mapping):
        return (read_choice({"message": {**message, "tool_calls": _unwrapped(message.get("tool_calls"))}}),)
    streamed = response.get("combined_chunk_content")
    return (ModelReply(text=streamed),) if isinstance(streamed, str) else ()


def _unwrapped(calls: Json) -> Json:
    """Returns the tool calls with Anthropic's arguments out of the `{"input": …}` that the wrapper puts them in."""
    return [_unwrap(call) for call in calls] if isinstance(calls, list) else calls


def _unwrap(call: Json) -> Json:
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = parse_json(function.get("arguments")) if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(arguments, Mapping) or set(arguments) != {"input"}:
        return call
    if not isinstance(arguments["input"], Mapping) or not as_text(call.get("id")).startswith("toolu_"):
        return call
    return {**call, "function": {**function, "arguments": argument_string(arguments["input"])}}
