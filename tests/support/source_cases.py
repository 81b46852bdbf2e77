"""For each source, a back end to import from: how many runs it holds, how to add one, how to make one unreadable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mlflow_server
import phoenix_server
from backend_server import Backend
from langfuse_server import LangfuseServer

SPANS_A_RUN = 2


def trace_id(run: int) -> str:
    return f"{run + 1:032x}"


def span_id(run: int, index: int) -> str:
    return f"{run + 1:015x}{index + 1:x}"


@dataclass(frozen=True)
class SourceCase:
    """A source with a server for it."""

    make: Callable[[], Any]
    environ: Callable[[Any], Mapping[str, str]]
    add_run: Callable[[Any, int], None]
    """Adds two spans, and a score for the first one."""
    add_unreadable: Callable[[Any], None]
    add_own: Callable[[Any, int], None]
    """Adds to a run what whyspan has written back."""

    def filled(self, runs: int, page: int) -> Any:
        server: Backend = self.make()
        for run in range(runs):
            self.add_run(server, run)
        server.page_limit = page  # type: ignore[attr-defined]
        return server


def moment(run: int, second: int = 0) -> str:
    return f"2026-11-{run // 24 + 1:02d}T{run % 24:02d}:00:{second:02d}.000Z"


def observation(run: int, index: int, **over: Any) -> dict[str, Any]:
    known = {
        "id": span_id(run, index),
        "traceId": trace_id(run),
        "projectId": "proj1",
        "parentObservationId": span_id(run, 0) if index else None,
        "type": "GENERATION" if index else "AGENT",
        "name": "call" if index else "agent",
        "startTime": moment(run, index),
        "endTime": moment(run, index + 1),
        "createdAt": moment(run, 30),
        "updatedAt": moment(run, 30),
        "level": "DEFAULT",
        "environment": "default",
        "input": '[{"role": "user", "content": "hi"}]',
        "output": '{"role": "assistant", "content": "hello"}',
        "metadata": {},
        "modelParameters": {},
        "usageDetails": {"input": 3, "output": 2, "total": 5},
        "costDetails": {},
        "tags": ["a"],
        "traceName": "agent",
        "isRootObservation": not index,
        "bookmarked": False,
        "public": False,
    }
    return {**known, **over}


def score(run: int, name: str = "thumbs", **over: Any) -> dict[str, Any]:
    known = {
        "id": f"score-{run:04d}-{name}",
        "projectId": "proj1",
        "name": name,
        "value": 0.0,
        "dataType": "NUMERIC",
        "source": "API",
        "timestamp": moment(run, 40),
        "createdAt": moment(run, 40),
        "updatedAt": moment(run, 40),
        "environment": "default",
        "traceId": trace_id(run),
        "comment": "bad",
    }
    return {**known, **over}


def _langfuse(version: str) -> SourceCase:
    def add_run(server: LangfuseServer, run: int) -> None:
        server.observations += [observation(run, index) for index in range(SPANS_A_RUN)]
        added = score(run)
        server.scores[added["id"]] = added

    def add_own(server: LangfuseServer, run: int) -> None:
        added = score(run, "whyspan.cause_effect")
        server.scores[added["id"]] = added

    return SourceCase(
        make=lambda: LangfuseServer(version),
        environ=lambda s: {
            "LANGFUSE_BASE_URL": s.url,
            "LANGFUSE_PUBLIC_KEY": s.user,
            "LANGFUSE_SECRET_KEY": s.password,
        },
        add_run=add_run,
        add_unreadable=lambda s: s.observations.append(observation(7, 5, endTime="yesterday")),
        add_own=add_own,
    )


def _phoenix() -> SourceCase:
    def add_run(server: phoenix_server.PhoenixServer, run: int) -> None:
        for index in range(SPANS_A_RUN):
            parent = span_id(run, 0) if index else None
            span = phoenix_server.rest_span(trace_id(run), span_id(run, index), parent=parent)
            server.projects["default"].append(span)
        _annotate(server, run, "thumbs")

    def _annotate(server: phoenix_server.PhoenixServer, run: int, name: str) -> None:
        result = {"score": 0.0, "label": None, "explanation": "bad"}
        span = span_id(run, 0)
        raw = {"span_id": span, "name": name, "annotator_kind": "HUMAN", "result": result}
        server.annotations[span, name, ""] = phoenix_server.annotation(raw)

    return SourceCase(
        make=phoenix_server.PhoenixServer,
        environ=lambda s: {"PHOENIX_BASE_URL": s.url, "PHOENIX_API_KEY": s.key},
        add_run=add_run,
        add_unreadable=lambda s: s.projects["default"].append({"span_id": "nonsense"}),
        add_own=lambda s, run: _annotate(s, run, "whyspan.cause_effect"),
    )


def _mlflow() -> SourceCase:
    def add_run(server: mlflow_server.MlflowServer, run: int) -> None:
        spans = [mlflow_server.rest_span(trace_id(run), span_id(run, index)) for index in range(SPANS_A_RUN)]
        server.traces[f"tr-{trace_id(run)}"] = spans
        _assess(server, run, "thumbs")

    def _assess(server: mlflow_server.MlflowServer, run: int, name: str) -> None:
        id = f"a-{run}-{name}"
        server.assessments[id] = {
            "assessment_id": id,
            "assessment_name": name,
            "trace_id": f"tr-{trace_id(run)}",
            "span_id": span_id(run, 0),
            "source": {"source_type": "HUMAN", "source_id": "ann"},
            "create_time": moment(run, 40),
            "last_update_time": moment(run, 40),
            "feedback": {"value": 0.0},
            "rationale": "bad",
            "valid": True,
        }

    return SourceCase(
        make=mlflow_server.MlflowServer,
        environ=lambda s: {
            "MLFLOW_TRACKING_URI": s.url,
            "MLFLOW_TRACKING_USERNAME": s.user,
            "MLFLOW_TRACKING_PASSWORD": s.password,
        },
        add_run=add_run,
        add_unreadable=lambda s: s.traces[f"tr-{trace_id(0)}"].append({"span_id": "nonsense"}),
        add_own=lambda s, run: _assess(s, run, "whyspan.cause_effect"),
    )


CASES = {
    ("langfuse", "v2"): _langfuse("4.16.0"),
    ("langfuse", "v1"): _langfuse("2.95.12"),
    ("phoenix", "rest"): _phoenix(),
    ("mlflow", "rest"): _mlflow(),
}
"""(source, API) → case; a source without one fails the contract test."""
