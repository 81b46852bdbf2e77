"""For each write-back target, a back end to write to, and what it has afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mlflow_server
import phoenix_server
from backend_server import Answer, Backend, Call
from claims import SPAN, TRACE
from langfuse_server import LangfuseServer

from whyspan.ingest.otlp import decode_logs, decode_traces


class OtlpServer(Backend):
    """An OTLP/HTTP endpoint that keeps the first span of an id, as most back ends do; perhaps without logs."""

    user = "otlp"
    password = "secret"

    def __init__(self, *, takes_logs: bool = True) -> None:
        super().__init__()
        self.takes_logs = takes_logs
        self.spans: dict[str, Any] = {}
        self.logs: list[Any] = []

    def answer(self, call: Call) -> Answer:
        if call.path == "/v1/traces":
            for span in decode_traces(call.body):
                self.spans.setdefault(span.span_id, span)
            return Answer(body=b"")
        if call.path == "/v1/logs" and self.takes_logs:
            self.logs += decode_logs(call.body)
            return Answer(body=b"")
        return Answer(405, {"detail": "Method Not Allowed"})


@dataclass(frozen=True)
class TargetCase:
    """A target with a server for it, which has the decision's span."""

    make: Callable[[], Any]
    environ: Callable[[Any], Mapping[str, str]]
    kept: Callable[[Any], list[tuple[str, Any]]]
    """(name, number or word) of everything the server has, sorted."""
    lose: Callable[[Any], None]
    """Makes the server answer well and keep nothing."""
    can_read_back: bool = True


def _langfuse(version: str) -> TargetCase:
    return TargetCase(
        make=lambda: LangfuseServer(version),
        environ=lambda s: {
            "LANGFUSE_BASE_URL": s.url,
            "LANGFUSE_PUBLIC_KEY": s.user,
            "LANGFUSE_SECRET_KEY": s.password,
        },
        kept=lambda s: sorted((score["name"], score["value"]) for score in s.scores.values()),
        lose=lambda s: setattr(s, "loses_scores", True),
    )


def _make_phoenix() -> phoenix_server.PhoenixServer:
    server = phoenix_server.PhoenixServer()
    server.projects["default"].append(phoenix_server.rest_span(TRACE, SPAN))
    return server


def _make_mlflow() -> mlflow_server.MlflowServer:
    server = mlflow_server.MlflowServer()
    server.traces[f"tr-{TRACE}"] = [mlflow_server.rest_span(TRACE, SPAN)]
    return server


def _annotation_value(annotation: Mapping[str, Any]) -> Any:
    result = annotation["result"]
    return result["label"] if result["score"] is None else result["score"]


def _otlp_kept(server: OtlpServer) -> list[tuple[str, Any]]:
    found = [s.attributes for s in server.spans.values()]
    values = [
        ("whyspan.verdict", "whyspan.claim.verdict"),
        ("whyspan.cause_effect", "evaluations.0.evaluation.score"),
    ]
    return sorted((name, attributes[key]) for attributes in found for name, key in values)


CASES = {
    ("langfuse", "v4"): _langfuse("4.16.0"),
    ("langfuse", "v2"): _langfuse("2.95.12"),
    ("phoenix", "rest"): TargetCase(
        make=_make_phoenix,
        environ=lambda s: {"PHOENIX_BASE_URL": s.url, "PHOENIX_API_KEY": s.key},
        kept=lambda s: sorted((a["name"], _annotation_value(a)) for a in s.annotations.values()),
        lose=lambda s: setattr(s, "loses_annotations", True),
    ),
    ("mlflow", "rest"): TargetCase(
        make=_make_mlflow,
        environ=lambda s: {
            "MLFLOW_TRACKING_URI": s.url,
            "MLFLOW_TRACKING_USERNAME": s.user,
            "MLFLOW_TRACKING_PASSWORD": s.password,
        },
        kept=lambda s: sorted((a["assessment_name"], a["feedback"]["value"]) for a in s.assessments.values()),
        lose=lambda s: setattr(s, "loses_assessments", True),
    ),
    ("otlp", "with logs"): TargetCase(
        make=OtlpServer,
        environ=lambda s: {
            "OTEL_EXPORTER_OTLP_ENDPOINT": s.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20b3RscDpzZWNyZXQ%3D",
        },
        kept=_otlp_kept,
        lose=lambda s: None,
        can_read_back=False,
    ),
    ("otlp", "without logs"): TargetCase(
        make=lambda: OtlpServer(takes_logs=False),
        environ=lambda s: {
            "OTEL_EXPORTER_OTLP_ENDPOINT": s.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20b3RscDpzZWNyZXQ%3D",
        },
        kept=_otlp_kept,
        lose=lambda s: None,
        can_read_back=False,
    ),
}
"""(target, kind of server) → case; a target without one fails the contract test."""
