"""Recognising a provider's request among the arguments of a client library."""

from collections.abc import Mapping

from ..calls import Body, Json

_CLIENT_KEYS = frozenset(
    {
        "_type", "model_name", "api_base", "api_key", "base_url", "extra_headers", "extra_query", "headers", "timeout",
        "max_retries", "num_retries", "retry_strategy", "cache", "caching", "api_version", "http_options",
    }
)  # fmt: skip
"""Arguments of client libraries that are not part of the request."""


def request_fields(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the arguments without those that steer the client library; `extra_body` is spread, as the SDKs do."""
    body = {k: v for k, v in arguments.items() if k not in _CLIENT_KEYS and k != "extra_body"}
    extra = arguments.get("extra_body")
    return {**body, **extra} if isinstance(extra, Mapping) else body


def is_request(body: Body) -> bool:
    """Tells whether an object is a provider's request: messages with roles, input items, or contents."""
    messages = body.get("messages")
    if isinstance(messages, list):
        return bool(messages) and all(isinstance(m, Mapping) and "role" in m for m in messages)
    if isinstance(body.get("contents"), list | str):
        return True
    return isinstance(body.get("input"), list | str) and "model" in body
