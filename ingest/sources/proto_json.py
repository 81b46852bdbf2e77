"""Spans in the JSON form of OTLP's protobuf messages with their own field names, which Phoenix and MLflow answer with.

Unlike OTLP/JSON: names in snake_case, 64-bit integers as numbers, `null` for what is not there.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from ..errors import FormatError
from ..otlp import decode_traces
from ..spans import Span

_IDS = ("trace_id", "span_id", "parent_span_id")


def decode_span(document: Mapping[str, Any]) -> Span:
    """Returns the span of one document; ids may be hex or base64. Resource and scope are empty: nobody sends them.

    Raises FormatError when it is no span.
    """
    request = ExportTraceServiceRequest()
    message = request.resource_spans.add().scope_spans.add().spans.add()
    try:
        ParseDict(_with_base64_ids(_without_nulls(document)), message, ignore_unknown_fields=True)
    except (ParseError, ValueError) as error:
        raise FormatError(f"not a span: {error}") from error
    if len(message.trace_id) != 16 or len(message.span_id) != 8:
        raise FormatError(f"not a span: trace id {document.get('trace_id')!r}, span id {document.get('span_id')!r}")
    _check(message)
    return decode_traces(request.SerializeToString())[0]


def _check(message: SpanMessage) -> None:
    if not message.start_time_unix_nano:
        raise FormatError("not a span: it has no start")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _with_base64_ids(document: Mapping[str, Any]) -> dict[str, Any]:
    ids = {key: _base64_id(document[key], 32 if key == "trace_id" else 16) for key in _IDS if document.get(key)}
    links = [_with_base64_ids(link) for link in _objects(document.get("links"))]
    return {**document, **ids, **({"links": links} if links else {})}


def _base64_id(id: str, digits: int) -> str:
    return base64.b64encode(bytes.fromhex(id)).decode() if len(id) == digits else id


def _objects(value: Any) -> Iterable[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()
