"""Requests with text that is not UTF-8: protobuf refuses the whole message, so one cut string would cost a batch.

SDKs in some languages cut long values in the middle of a character. `string` and `bytes` look alike on the wire, so
the request is read with a copy of OTLP's schema in which all text is bytes; values that are not UTF-8 are then kept as
bytes, and names, which must be text, get the replacement character.
"""

from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from ..errors import FormatError

FieldProto = descriptor_pb2.FieldDescriptorProto
_BYTES_TYPE = 12
"""`FieldDescriptor.TYPE_BYTES`."""
_WAS_TEXT = "_text"
"""Ends the JSON name of fields that are text in the original; ids are bytes there too, and must stay as they are."""


M = TypeVar("M", bound=Message)


class Parsed(NamedTuple, Generic[M]):
    """A request that could be read."""

    message: M
    payload: bytes
    """The bytes that say the same: as they came, or with the text made valid."""
    is_repaired: bool


def parse(data: bytes, message_type: type[M]) -> Parsed[M]:
    """Reads a request, with text that is not UTF-8 made valid; raises FormatError when it cannot be read."""
    try:
        return Parsed(message_type.FromString(data), data, False)
    except DecodeError as error:
        repaired = _repair_text(data, message_type)
        if repaired is None:
            raise FormatError(f"not an OTLP {message_type.DESCRIPTOR.name}: {error}") from error
        return Parsed(message_type.FromString(repaired), repaired, True)


def _repair_text(data: bytes, message_type: type[Message]) -> bytes | None:
    message = _bytes_class(message_type.DESCRIPTOR)()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    _repair(message)
    return message.SerializeToString()


@cache
def _bytes_class(descriptor: Descriptor) -> type[Message]:
    """Returns the message class whose `string` fields are `bytes`."""
    pool = descriptor_pool.DescriptorPool()
    _add_file(pool, descriptor.file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(descriptor.full_name))


def _add_file(pool: descriptor_pool.DescriptorPool, file: Any) -> None:
    try:
        pool.FindFileByName(file.name)
        return
    except KeyError:
        pass
    for dependency in file.dependencies:
        _add_file(pool, dependency)
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    for message in proto.message_type:
        _to_bytes(message)
    pool.AddSerializedFile(proto.SerializeToString())


def _to_bytes(message: descriptor_pb2.DescriptorProto) -> None:
    for field in message.field:
        if field.type == FieldProto.TYPE_STRING:
            field.type = FieldProto.TYPE_BYTES
            field.json_name = field.name + _WAS_TEXT
    for nested in message.nested_type:
        _to_bytes(nested)


def _repair(message: Any) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in (value,) if isinstance(value, Message) else value:
                _repair(item)
        elif field.type == _BYTES_TYPE and field.json_name.endswith(_WAS_TEXT) and not _is_text(value):
            if message.DESCRIPTOR.name == "AnyValue":
                message.bytes_value = value
            else:
                setattr(message, field.name, value.decode("utf-8", "replace").encode())


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
