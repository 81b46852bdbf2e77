"""Settings read from a Responses API answer, which repeats every setting of the request with its default."""

from collections.abc import Mapping

from ..calls import Json

_SETTINGS = frozenset(
    {
        "temperature", "top_p", "max_output_tokens", "parallel_tool_calls", "tool_choice", "truncation", "text",
        "reasoning", "top_logprobs", "max_tool_calls", "previous_response_id", "store", "service_tier", "metadata",
        "background", "user",
    }
)  # fmt: skip
_DEFAULTS: Mapping[str, Json] = {
    "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "truncation": "disabled", "store": True,
    "text": {"format": {"type": "text"}}, "service_tier": "default", "metadata": {}, "background": False,
    "top_logprobs": 0,
}  # fmt: skip


def is_echo(parameters: Mapping[str, Json]) -> bool:
    """Tells whether recorded parameters are an answer's fields."""
    identity = parameters.get("id")
    return parameters.get("object") == "response" or (isinstance(identity, str) and identity.startswith("resp_"))


def settings_of(echo: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the settings that differ from what the server uses when they are not sent."""
    return {k: v for k, v in echo.items() if k in _SETTINGS and not _is_default(k, v)}


def _is_default(name: str, value: Json) -> bool:
    is_empty = isinstance(value, Mapping) and all(inner is None for inner in value.values())
    return value is None or is_empty or value == _DEFAULTS.get(name)
