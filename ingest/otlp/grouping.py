"""Consecutive items of one sender under one resource message and one scope message, as OTLP nests them."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage

from ..spans import Resource, Scope
from .values import write_resource, write_scope


class Sent(Protocol):
    """What has a sender."""

    @property
    def resource(self) -> Resource: ...  # noqa: D102

    @property
    def scope(self) -> Scope: ...  # noqa: D102


T = TypeVar("T", bound=Sent)


class SenderKeys:
    """Keys by which senders are compared.

    `==` will not do: Python takes 1, 1.0 and True for equal, and NaN for different from itself. The encoded form
    tells them apart; it is cached by identity, because a batch shares few resource objects.
    """

    def __init__(self) -> None:
        self._resources: dict[int, tuple[Resource, bytes]] = {}
        self._scopes: dict[int, tuple[Scope, bytes]] = {}

    def resource(self, resource: Resource) -> bytes:
        """Returns the key of a resource."""
        found = self._resources.get(id(resource))
        if found is None:
            message = ResourceMessage()
            write_resource(message, resource)
            key = message.SerializeToString() + b"\0" + resource.schema_url.encode()
            found = self._resources[id(resource)] = (resource, key)
        return found[1]

    def scope(self, scope: Scope) -> bytes:
        """Returns the key of a scope."""
        found = self._scopes.get(id(scope))
        if found is None:
            message = InstrumentationScope()
            write_scope(message, scope)
            key = message.SerializeToString() + b"\0" + scope.schema_url.encode()
            found = self._scopes[id(scope)] = (scope, key)
        return found[1]


def group_by_sender(items: Iterable[T]) -> Iterator[tuple[T, bool, bool]]:
    """Yields each item with (a new resource begins, a new scope begins); the order of items is kept."""
    keys = SenderKeys()
    last_resource: bytes | None = None
    last_scope: bytes | None = None
    for item in items:
        resource, scope = keys.resource(item.resource), keys.scope(item.scope)
        new_resource = resource != last_resource
        yield item, new_resource, new_resource or scope != last_scope
        last_resource, last_scope = resource, scope
