"""Whether the ids of all spans are what OTLP allows, without making a Python object of each span: that costs as much
as parsing the request.

The request is read with a copy of OTLP's schema that knows nothing but the ids. Written again, a span with valid ids is
28 bytes, always with the same frame around them.
"""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import Message

_FRAME = {0: b"\x12", 1: b"\x1c", 2: b"\x0a", 3: b"\x10", 20: b"\x12", 21: b"\x08"}
"""Place → byte, of one span in its scope group: tag and length of the span, of its trace id, of its span id."""
_SPAN_BYTES = 30
_ZEROS = (b"\x0a\x10" + bytes(16), b"\x12\x08" + bytes(8))
_SCHEMA = """
name: "span_ids.proto" package: "span_ids" syntax: "proto3"
message_type { name: "Request" field { name: "resource_spans" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE
  type_name: ".span_ids.ResourceSpans" } }
message_type { name: "ResourceSpans" field { name: "scope_spans" number: 2 label: LABEL_REPEATED type: TYPE_MESSAGE
  type_name: ".span_ids.ScopeSpans" } }
message_type { name: "ScopeSpans" field { name: "spans" number: 2 label: LABEL_REPEATED type: TYPE_MESSAGE
  type_name: ".span_ids.Span" } }
message_type { name: "Span" field { name: "trace_id" number: 1 label: LABEL_OPTIONAL type: TYPE_BYTES }
  field { name: "span_id" number: 2 label: LABEL_OPTIONAL type: TYPE_BYTES } }
"""


def are_ids_valid(payload: bytes) -> bool:
    """Tells whether all spans of a request, which can be parsed, have ids of 16 and 8 bytes that are not all zero.

    May say no without need, though hardly ever: who hears it looks again, span by span.
    """
    request: Any = _request_class().FromString(payload)
    request.DiscardUnknownFields()
    groups = [scope_spans for group in request.resource_spans for scope_spans in group.scope_spans]
    return all(_is_valid(group.SerializeToString(), len(group.spans)) for group in groups)


def _is_valid(encoded: bytes, spans: int) -> bool:
    return (
        len(encoded) == spans * _SPAN_BYTES
        and all(encoded[place::_SPAN_BYTES] == byte * spans for place, byte in _FRAME.items())
        and not any(zeros in encoded for zeros in _ZEROS)
    )


@cache
def _request_class() -> type[Message]:
    file = text_format.Parse(_SCHEMA, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("span_ids.Request"))
