"""What all rows under one resource and one scope have in common."""

from collections.abc import Mapping
from typing import Any

from ..otlp.values import read_attributes
from ..spans import AnyValue
from .attributes import to_json_text


class Sender:
    """A resource and scope, from the groups that OTLP nests spans or records in."""

    def __init__(self, group: Any, scope_group: Any) -> None:
        attributes = read_attributes(group.resource.attributes)
        scope = scope_group.scope
        named = {"name": scope.name, "version": scope.version}
        service = attributes.get("service.name")
        self.service = service if isinstance(service, str) and service else None
        self.found: Mapping[str, AnyValue] = {key: attributes[key] for key in attributes.keys() & {"session.id"}}
        """Attributes of the resource that count for each of its spans."""
        self.scope_name: str = scope.name
        self.resource = _text(group.resource, group.schema_url, {"attributes": attributes})
        self.scope = _text(scope, scope_group.schema_url, {**named, "attributes": read_attributes(scope.attributes)})


def _text(message: Any, schema_url: str, document: dict[str, AnyValue]) -> str:
    """Returns a resource or scope as lossless JSON text; few differ, so a dictionary keeps it small."""
    if message.dropped_attributes_count:
        document["dropped_attributes_count"] = message.dropped_attributes_count
    if schema_url:
        document["schema_url"] = schema_url
    return to_json_text(document)
