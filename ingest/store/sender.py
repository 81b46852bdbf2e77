"""What all rows under one resource and one scope have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..otlp.values import read_attributes
from ..spans import AnyValue, Attributes
from .attributes import to_json_text


@dataclass(frozen=True, kw_only=True)
class Sender:
    """A resource and scope, from the groups that OTLP nests spans or records in."""

    resource_attributes: Attributes
    resource_dropped: int
    resource_url: str
    scope_name: str
    scope_version: str
    scope_attributes: Attributes
    scope_dropped: int
    scope_url: str

    @classmethod
    def of(cls, group: Any, scope_group: Any) -> "Sender":
        """Returns the sender of a ScopeSpans or ScopeLogs message inside its resource's group."""
        resource, scope = group.resource, scope_group.scope
        return cls(
            resource_attributes=read_attributes(resource.attributes),
            resource_dropped=resource.dropped_attributes_count,
            resource_url=group.schema_url,
            scope_name=scope.name,
            scope_version=scope.version,
            scope_attributes=read_attributes(scope.attributes),
            scope_dropped=scope.dropped_attributes_count,
            scope_url=scope_group.schema_url,
        )

    @cached_property
    def service(self) -> str | None:
        """`service.name`."""
        name = self.resource_attributes.get("service.name")
        return name if isinstance(name, str) and name else None

    @cached_property
    def found(self) -> Mapping[str, AnyValue]:
        """Attributes of the resource that count for each of its spans."""
        attributes = self.resource_attributes
        return {"session.id": attributes["session.id"]} if "session.id" in attributes else {}

    @cached_property
    def resource(self) -> str:
        """The resource as lossless JSON text; few differ, so a dictionary keeps it small."""
        return _text({"attributes": self.resource_attributes}, self.resource_dropped, self.resource_url)

    @cached_property
    def scope(self) -> str:
        """The scope as lossless JSON text."""
        named: dict[str, AnyValue] = {"name": self.scope_name, "version": self.scope_version}
        return _text(named | {"attributes": self.scope_attributes}, self.scope_dropped, self.scope_url)


def _text(document: dict[str, AnyValue], dropped: int, url: str) -> str:
    if dropped:
        document["dropped_attributes_count"] = dropped
    if url:
        document["schema_url"] = url
    return to_json_text(document)
