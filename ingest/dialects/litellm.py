"""LiteLLM's `otel` callback: the request as Python literals in `llm.<provider>.*`, mixed with the response's fields.

Source: litellm, `integrations/opentelemetry.py` (`set_raw_request_attributes`). A field that both have (`model`,
`service_tier`) holds the response's value.
"""

import ast
from collections.abc import Mapping, Sequence

from ..calls import Json
from ..spans import AnyValue, LogRecord, Span
from .answers import read_response, read_usage
from .partial import Found, PartialCall, Trust
from .requests import request_fields
from .values import as_text, parse_json

NAME = "litellm"

_SPAN = "raw_gen_ai_request"
_RESPONSE = frozenset(
    {
        "id", "choices", "created", "model", "object", "system_fingerprint", "usage", "service_tier", "candidates",
        "usageMetadata", "modelVersion", "responseId", "stop_reason", "stop_sequence", "type", "role", "content",
        "output", "status", "metrics",
    }
)  # fmt: skip


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns the request and response of a raw-request span; None for other spans."""
    if span.name != _SPAN:
        return None
    provider, fields = _fields(span.attributes)
    if not fields:
        return None
    body = request_fields({name: value for name, value in fields.items() if name not in _RESPONSE})
    response = {name: value for name, value in fields.items() if name in _RESPONSE}
    replies = read_response(response)
    usage = response.get("usage")
    read = read_usage(usage) if isinstance(usage, Mapping) else None
    source = f"{NAME}:llm.{provider}"
    return PartialCall(
        body=Found(body, source, Trust.RAW) if isinstance(body.get("messages") or body.get("contents"), list) else None,
        provider=Found(provider, source, Trust.RAW),
        replies=Found(replies, source, Trust.RAW) if replies else None,
        usage=Found(read, source, Trust.RAW) if read else None,
        response_id=Found(as_text(response.get("id")), source, Trust.RAW) if response.get("id") else None,
    )


def _fields(attributes: Mapping[str, AnyValue]) -> tuple[str, dict[str, Json]]:
    provider = ""
    fields: dict[str, Json] = {}
    for key, value in attributes.items():
        prefix, _, rest = key.partition(".")
        owner, _, name = rest.partition(".")
        if prefix == "llm" and name and "." not in name:
            provider = owner
            fields[name] = parse_literal(value)
    return provider, fields


def parse_literal(value: AnyValue) -> Json:
    """Returns a container written as a Python literal; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in "[{(":
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        parsed = parse_json(value)
        return value if parsed is None else parsed
