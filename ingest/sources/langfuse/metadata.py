"""What Langfuse keeps of an OpenTelemetry span in an observation's metadata: attributes, resource and scope.

Servers from version 4 on give metadata as texts under flat keys (`attributes.gen_ai.request.model`), older ones as
nested JSON, exports as JSON text. Values over 200 characters are cut unless their key is asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

CUT = 200
"""Characters that the v2 API gives of a metadata value whose key was not asked for."""
_GROUPS = ("attributes", "resourceAttributes", "scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """An observation's metadata, sorted."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    """The attributes that the span was sent with, without those that Langfuse turned into fields."""
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)
    """What the user set."""


def read_metadata(raw: Any) -> Metadata:
    """Returns the metadata of an observation; what is no object becomes the user's value `metadata`."""
    value = _opened(raw)
    if not isinstance(value, Mapping):
        return Metadata(own={} if value in (None, "") else {"metadata": value})
    groups: dict[str, dict[str, Any]] = {name: {} for name in _GROUPS}
    own: dict[str, Any] = {}
    for key, item in value.items():
        group, dot, rest = key.partition(".")
        if group in groups and dot:
            groups[group][rest] = item
        elif key in groups and isinstance(inner := _opened(item), Mapping):
            groups[key] |= inner
        else:
            own[key] = item
    return Metadata(
        attributes=groups["attributes"], resource=groups["resourceAttributes"], scope=groups["scope"], own=own
    )


def cut_keys(observations: Iterable[Mapping[str, Any]], asked: Iterable[str]) -> list[str]:
    """Returns the metadata keys whose values may have been cut, those asked for aside."""
    known = set(asked)
    found = {key for observation in observations for key in _long_keys(observation.get("metadata")) if key not in known}
    return sorted(found)


def _long_keys(metadata: Any) -> Iterator[str]:
    if isinstance(metadata, Mapping):
        for key, value in metadata.items():
            text = value if isinstance(value, str) else orjson.dumps(value).decode()
            if len(text) >= CUT:
                yield key


def _opened(value: Any) -> Any:
    """Returns the object behind JSON text; anything else as it is."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
