"""OTLP bytes ⇄ spans and log records. Pure: no files, no network, no convention is known here."""

from .json_form import logs_from_json, traces_from_json
from .logs import decode_logs, encode_logs
from .traces import decode_traces, encode_traces

__all__ = ["decode_logs", "decode_traces", "encode_logs", "encode_traces", "logs_from_json", "traces_from_json"]
