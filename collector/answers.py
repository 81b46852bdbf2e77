"""Answers in OTLP's own words: export responses and error statuses, in protobuf or JSON."""

import json

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from .refusals import Refusal
from .signals import Receipt, Signal


def render_receipt(signal: Signal, receipt: Receipt, *, as_json: bool = False) -> bytes:
    """Returns the export response; `partial_success` is set only when there is something to say."""
    return _render(_response(signal, receipt), as_json=as_json)


def render_refusal(refusal: Refusal, *, as_json: bool = False) -> bytes:
    """Returns a google.rpc.Status: the body of an HTTP error, and the details of a gRPC one.

    It has a RetryInfo exactly when trying again makes sense.
    """
    code: int = refusal.reason.grpc_status.value[0]
    status = Status(code=code, message=refusal.message)
    if refusal.retry_after_s is not None:
        delay = Duration(seconds=refusal.retry_after_s)
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    return _render(status, as_json=as_json)


def _response(signal: Signal, receipt: Receipt) -> Message:
    match signal:
        case Signal.TRACES:
            traces = ExportTraceServiceResponse()
            if receipt.message:
                traces.partial_success.rejected_spans = receipt.rejected
                traces.partial_success.error_message = receipt.message
            return traces
        case Signal.LOGS:
            logs = ExportLogsServiceResponse()
            if receipt.message:
                logs.partial_success.error_message = receipt.message
            return logs
        case Signal.METRICS:
            return ExportMetricsServiceResponse()


def _render(message: Message, *, as_json: bool) -> bytes:
    if as_json:
        return json.dumps(json_format.MessageToDict(message)).encode()
    return message.SerializeToString()
