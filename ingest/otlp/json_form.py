"""OTLP/JSON → the equivalent protobuf bytes, so that everything behind the edge has one form.

OTLP/JSON is proto3 JSON except that ids are hex and enums are integers. What real senders do is accepted too:
64-bit integers as numbers or strings, enum names, snake_case keys; unknown keys and nulls are ignored. An id that
is not hex becomes an empty one: the span is then invalid by itself and its neighbours are not harmed.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from ..errors import FormatError

Setter: TypeAlias = Callable[[Any, str, Any], None]
"""Sets a field: (message, protobuf field name, JSON value)."""
Table: TypeAlias = Mapping[str, tuple[str, Setter]]
"""JSON key → (protobuf field name, setter)."""

_FLOAT_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def traces_from_json(data: bytes) -> bytes:
    """Returns an OTLP/JSON trace export as protobuf; raises FormatError with the field that is wrong."""
    return _convert(data, ExportTraceServiceRequest(), _TRACES)


def logs_from_json(data: bytes) -> bytes:
    """Returns an OTLP/JSON log export as protobuf; raises FormatError with the field that is wrong."""
    return _convert(data, ExportLogsServiceRequest(), _LOGS)


def _convert(data: bytes, message: Any, table: Table) -> bytes:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error}") from error
    _fill(message, document, table)
    encoded: bytes = message.SerializeToString()
    return encoded


def _fill(message: Any, document: Any, table: Table) -> None:
    if not isinstance(document, dict):
        raise FormatError(f"{message.DESCRIPTOR.name}: an object is expected, not {type(document).__name__}")
    for key, value in document.items():
        entry = table.get(key)
        if entry is None or value is None:
            continue
        field, setter = entry
        try:
            setter(message, field, value)
        except (TypeError, ValueError, UnicodeEncodeError) as error:
            raise FormatError(f"{message.DESCRIPTOR.name}.{key}: {error}") from error


def _scalar(convert: Callable[[Any], Any]) -> Setter:
    return lambda message, field, value: setattr(message, field, convert(value))


def _message(table: Table) -> Setter:
    def fill(message: Any, field: str, value: Any) -> None:
        target = getattr(message, field)
        target.SetInParent()
        _fill(target, value, table)

    return fill


def _repeated(table: Table) -> Setter:
    def fill(message: Any, field: str, value: Any) -> None:
        items = getattr(message, field)
        for item in _list(value):
            _fill(items.add(), item, table)

    return fill


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list is expected, not {type(value).__name__}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string is expected, not {type(value).__name__}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise TypeError(f"a whole number is expected, not {value!r}")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, str):
        return _FLOAT_WORDS[value] if value in _FLOAT_WORDS else float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number is expected, not {value!r}")
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"true or false is expected, not {value!r}")
    return value


def _id(value: Any) -> bytes:
    try:
        return bytes.fromhex(_text(value))
    except ValueError:
        return b""


def _binary(value: Any) -> bytes:
    text = _text(value).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


def _enum(enum: Any) -> Callable[[Any], int]:
    numbers = dict(enum.items())
    return lambda value: numbers[value] if value in numbers else _integer(value)


def _any_value(message: Any, field: str, value: Any) -> None:
    _fill_value(getattr(message, field), value)


def _fill_value(target: Any, document: Any) -> None:
    target.SetInParent()
    _fill(target, document, _ANY_VALUE)


def _array(message: Any, field: str, value: Any) -> None:
    target = getattr(message, field)
    target.SetInParent()
    for item in _list(value.get("values") or [] if isinstance(value, dict) else value):
        _fill_value(target.values.add(), item)


def _kvlist(message: Any, field: str, value: Any) -> None:
    target = getattr(message, field)
    target.SetInParent()
    for item in _list(value.get("values") or [] if isinstance(value, dict) else value):
        _fill(target.values.add(), item, _KEY_VALUE)


def _table(**fields: Setter) -> Table:
    """Returns the table for protobuf field names, keyed by camelCase and by snake_case."""
    table: dict[str, tuple[str, Setter]] = {}
    for field, setter in fields.items():
        first, *rest = field.split("_")
        table[field] = table[first + "".join(word.capitalize() for word in rest)] = (field, setter)
    return table


_ANY_VALUE = _table(
    string_value=_scalar(_text),
    bool_value=_scalar(_boolean),
    int_value=_scalar(_integer),
    double_value=_scalar(_number),
    bytes_value=_scalar(_binary),
    array_value=_array,
    kvlist_value=_kvlist,
)
_KEY_VALUE = _table(key=_scalar(_text), value=_any_value)
_ATTRIBUTES = _repeated(_KEY_VALUE)
_RESOURCE = _table(attributes=_ATTRIBUTES, dropped_attributes_count=_scalar(_integer))
_SCOPE = _table(
    name=_scalar(_text), version=_scalar(_text), attributes=_ATTRIBUTES, dropped_attributes_count=_scalar(_integer)
)
_EVENT = _table(
    time_unix_nano=_scalar(_integer),
    name=_scalar(_text),
    attributes=_ATTRIBUTES,
    dropped_attributes_count=_scalar(_integer),
)
_LINK = _table(
    trace_id=_scalar(_id),
    span_id=_scalar(_id),
    trace_state=_scalar(_text),
    attributes=_ATTRIBUTES,
    dropped_attributes_count=_scalar(_integer),
    flags=_scalar(_integer),
)
_STATUS = _table(code=_scalar(_enum(Status.StatusCode)), message=_scalar(_text))
_SPAN = _table(
    trace_id=_scalar(_id),
    span_id=_scalar(_id),
    trace_state=_scalar(_text),
    parent_span_id=_scalar(_id),
    flags=_scalar(_integer),
    name=_scalar(_text),
    kind=_scalar(_enum(Span.SpanKind)),
    start_time_unix_nano=_scalar(_integer),
    end_time_unix_nano=_scalar(_integer),
    attributes=_ATTRIBUTES,
    dropped_attributes_count=_scalar(_integer),
    events=_repeated(_EVENT),
    dropped_events_count=_scalar(_integer),
    links=_repeated(_LINK),
    dropped_links_count=_scalar(_integer),
    status=_message(_STATUS),
)
_LOG_RECORD = _table(
    time_unix_nano=_scalar(_integer),
    observed_time_unix_nano=_scalar(_integer),
    severity_number=_scalar(_enum(SeverityNumber)),
    severity_text=_scalar(_text),
    body=_any_value,
    attributes=_ATTRIBUTES,
    dropped_attributes_count=_scalar(_integer),
    flags=_scalar(_integer),
    trace_id=_scalar(_id),
    span_id=_scalar(_id),
    event_name=_scalar(_text),
)
_SCOPE_SPANS = _table(scope=_message(_SCOPE), spans=_repeated(_SPAN), schema_url=_scalar(_text))
_SCOPE_LOGS = _table(scope=_message(_SCOPE), log_records=_repeated(_LOG_RECORD), schema_url=_scalar(_text))
_RESOURCE_SPANS = _table(resource=_message(_RESOURCE), scope_spans=_repeated(_SCOPE_SPANS), schema_url=_scalar(_text))
_RESOURCE_LOGS = _table(resource=_message(_RESOURCE), scope_logs=_repeated(_SCOPE_LOGS), schema_url=_scalar(_text))
_TRACES = _table(resource_spans=_repeated(_RESOURCE_SPANS))
_LOGS = _table(resource_logs=_repeated(_RESOURCE_LOGS))
