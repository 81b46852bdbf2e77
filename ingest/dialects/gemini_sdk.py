"""Requests in the form of Google's Python SDK: snake case, settings in `config`. The wire form is camel case.

Source: google-genai, `google/genai/models.py` (`_GenerateContentParameters_to_mldev`).
"""

import re
from collections.abc import Mapping

from ..calls import Body, Json

_SCHEMA_KEYS = frozenset({"parameters_json_schema", "response_json_schema", "parameters", "response_schema"})
_FREE = frozenset({"args", "response", "metadata"})
"""Keys whose value is the caller's own data."""
_OUTSIDE = frozenset({"system_instruction", "tools", "tool_config", "safety_settings", "cached_content", "labels"})
"""Settings that the wire form keeps beside `generationConfig`."""
_NAMES_OF_CHOICE = frozenset({"properties", "$defs", "definitions", "pattern_properties", "dependent_schemas"})
_VALUES_OF_CHOICE = frozenset({"enum", "default", "const", "example", "examples", "required"})
_CLIENT = frozenset({"http_options", "automatic_function_calling", "should_return_http_response"})


def to_wire(body: Body) -> dict[str, Json]:
    """Returns the request as the SDK sends it; a body in wire form comes back unchanged."""
    config = body.get("config")
    settings = {k: v for k, v in config.items() if k not in _CLIENT} if isinstance(config, Mapping) else {}
    moved = {k: v for k, v in settings.items() if k in _OUTSIDE and v is not None}
    inner = {k: v for k, v in settings.items() if k not in _OUTSIDE and v is not None}
    flat = {k: v for k, v in body.items() if k not in ("config", "model")} | moved
    if inner:
        flat["generation_config"] = inner
    instruction = flat.get("system_instruction")
    if isinstance(instruction, str):
        flat["system_instruction"] = {"parts": [{"text": instruction}], "role": "user"}
    contents = flat.get("contents")
    if isinstance(contents, str):
        flat["contents"] = [{"parts": [{"text": contents}], "role": "user"}]
    return {_camel(key): _convert(key, value) for key, value in flat.items()}


def _convert(key: str, value: Json) -> Json:
    if isinstance(value, list):
        return [_convert(key, item) for item in value]
    if not isinstance(value, Mapping) or key in _FREE:
        return value
    if key in _SCHEMA_KEYS:
        return schema_to_wire(value)
    # The SDK leaves this one key in its own spelling; the server reads both.
    return {k if k == "parameters_json_schema" else _camel(k): _convert(k, v) for k, v in value.items()}


def schema_to_wire(schema: Json) -> Json:
    """Returns a JSON Schema with its keywords in camel case; names that the user chose are kept."""
    if isinstance(schema, list):
        return [schema_to_wire(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {_camel(key): _keyword(key, value) for key, value in schema.items()}


def _keyword(key: str, value: Json) -> Json:
    if key in _NAMES_OF_CHOICE and isinstance(value, Mapping):
        return {name: schema_to_wire(inner) for name, inner in value.items()}
    return value if key in _VALUES_OF_CHOICE else schema_to_wire(value)


def _camel(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])_([a-z])", lambda m: m[1].upper(), key)
