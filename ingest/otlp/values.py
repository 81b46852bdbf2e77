"""AnyValue, resource and scope: the parts that spans and log records share, protobuf ⇄ Python."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from opentelemetry.proto.common.v1.common_pb2 import AnyValue as AnyValueMessage
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage

from ..spans import AnyValue, Attributes, Resource, Scope

KeyValues: TypeAlias = Iterable[KeyValue]


def read_value(message: AnyValueMessage) -> AnyValue:
    """Returns the value of an AnyValue; arrays become tuples, kvlists dicts, an unset value None."""
    kind = message.WhichOneof("value")
    if kind is None or kind == "string_value_strindex":  # the latter exists in profiles only
        return None
    if kind == "array_value":
        return tuple(read_value(item) for item in message.array_value.values)
    if kind == "kvlist_value":
        return read_attributes(message.kvlist_value.values)
    value: AnyValue = getattr(message, kind)
    return value


def read_attributes(pairs: KeyValues) -> dict[str, AnyValue]:
    """Returns attributes in the order sent; of a repeated key (forbidden by OTLP) the last value counts."""
    return {pair.key: read_value(pair.value) for pair in pairs}


def write_value(message: AnyValueMessage, value: AnyValue) -> None:
    """Sets an AnyValue, keeping the kind: True is a bool, 1 an int, 1.0 a double."""
    match value:
        case None:
            pass
        case str():
            message.string_value = value
        case bool():
            message.bool_value = value
        case int():
            message.int_value = value
        case float():
            message.double_value = value
        case bytes():
            message.bytes_value = value
        case dict():
            message.kvlist_value.SetInParent()
            write_attributes(message.kvlist_value.values, value)
        case _:
            message.array_value.SetInParent()
            for item in value:
                write_value(message.array_value.values.add(), item)


def write_attributes(target: Any, attributes: Attributes) -> None:
    """Appends attributes to a repeated KeyValue field."""
    for key, value in attributes.items():
        pair = target.add()
        pair.key = key
        if type(value) is str:  # most are
            pair.value.string_value = value
        else:
            write_value(pair.value, value)


def read_resource(message: ResourceMessage, schema_url: str) -> Resource:
    """Returns the sender; `schema_url` stands beside the resource on the wire."""
    return Resource(
        attributes=read_attributes(message.attributes),
        dropped_attributes_count=message.dropped_attributes_count,
        schema_url=schema_url,
    )


def read_scope(message: InstrumentationScope, schema_url: str) -> Scope:
    """Returns the instrumentation scope; `schema_url` stands beside it on the wire."""
    return Scope(
        name=message.name,
        version=message.version,
        attributes=read_attributes(message.attributes),
        dropped_attributes_count=message.dropped_attributes_count,
        schema_url=schema_url,
    )


def write_resource(message: ResourceMessage, resource: Resource) -> None:
    """Fills a resource message (its schema URL goes beside it)."""
    write_attributes(message.attributes, resource.attributes)
    message.dropped_attributes_count = resource.dropped_attributes_count


def write_scope(message: InstrumentationScope, scope: Scope) -> None:
    """Fills a scope message (its schema URL goes beside it)."""
    message.name = scope.name
    message.version = scope.version
    write_attributes(message.attributes, scope.attributes)
    message.dropped_attributes_count = scope.dropped_attributes_count
