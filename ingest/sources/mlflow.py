"""Import from an MLflow tracking server, by its REST API: traces with their spans, and feedback as scores.

Source: MLflow 3.17, `store/tracking/rest_store.py`. MLflow parses JSON in attributes, so that `input.value` may come
back as a value instead of a text; it keeps resource attributes as tags of the trace.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from ..conventions import KIND
from ..errors import ConfigError
from ..remote import Account, Patience, Remote
from ..spans import AnyValue, Resource, SpanId, TraceId
from .evaluations import Score
from .proto_json import decode_span
from .reading import read_each, read_scores
from .source import Selection
from .times import parse_time
from .windows import Page, Step, Window, WindowedSource

LIMIT = 50
"""Traces a page."""
_API = "/api/3.0/mlflow/traces"


def mlflow_account(*, environ: Mapping[str, str] | None = None) -> Account:
    """Returns where MLflow is and who asks, from the variables of MLflow's own client.

    Raises ConfigError without `MLFLOW_TRACKING_URI`, and for one that is no server.
    """
    env = os.environ if environ is None else environ
    uri = env.get("MLFLOW_TRACKING_URI", "")
    if not uri.startswith(("http://", "https://")):
        raise ConfigError(
            f"no MLflow server: MLFLOW_TRACKING_URI is {uri!r}", hint="export MLFLOW_TRACKING_URI=http://127.0.0.1:5000"
        )
    token = env.get("MLFLOW_TRACKING_TOKEN")
    return Account(
        base_url=uri.rstrip("/"),
        user=env.get("MLFLOW_TRACKING_USERNAME", ""),
        password=env.get("MLFLOW_TRACKING_PASSWORD", ""),
        headers={"authorization": f"Bearer {token}"} if token else {},
        keys_hint="check MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN",
    )


def mlflow_trace_id(trace_id: str) -> str:
    """Returns MLflow's id of an OpenTelemetry trace."""
    return f"tr-{trace_id}"


class MlflowReader:
    """Reads the experiments of an MLflow server; projects are experiment ids, or names."""

    def __init__(self, remote: Remote, selection: Selection) -> None:
        self._remote = remote
        self._selection = selection

    def steps(self, window: Window) -> Mapping[str, Step]:
        """Returns a step for each experiment, or each trace that was asked for."""
        if self._selection.trace_ids:
            return {id: partial(self._trace, id) for id in self._selection.trace_ids}
        return {id: partial(self._traces, id, window) for id in self._experiments()}

    def _experiments(self) -> list[str]:
        known = {e["name"]: e["experiment_id"] for e in _experiments(self._remote)}
        chosen = self._selection.projects
        return [known.get(name, name) for name in chosen] if chosen else sorted(known.values())

    def _traces(self, experiment: str, window: Window, cursor: Any) -> Page:
        location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
        query: dict[str, Any] = {"locations": [location], "max_results": LIMIT, "order_by": ["timestamp_ms ASC"]}
        conditions = [f"timestamp_ms < {-(-window.end // 10**6)}"]
        if window.start is not None:
            conditions.append(f"timestamp_ms >= {window.start // 10**6}")
        body = _post(self._remote, f"{_API}/search", {**query, "filter": " AND ".join(conditions)} | _token(cursor))
        ids = [str(info["trace_id"]) for info in body.get("traces") or ()]
        page = self._whole(ids)
        return replace(page, cursor=body.get("next_page_token") or None)

    def _trace(self, id: str, cursor: Any) -> Page:
        return self._whole([id if id.startswith("tr-") else mlflow_trace_id(id)])

    def _whole(self, ids: list[str]) -> Page:
        """Returns traces with spans and feedback; one deleted meanwhile is left out by the server."""
        if not ids:
            return Page()
        traces = self._remote.get(f"{_API}/batchGet", {"trace_ids": ids}).get("traces") or ()
        pages = [_decode(trace) for trace in traces]
        return Page(
            spans=tuple(span for page in pages for span in page.spans),
            logs=tuple(log for page in pages for log in page.logs),
            rejects=tuple(reject for page in pages for reject in page.rejects),
        )


def _token(cursor: Any) -> dict[str, Any]:
    return {"page_token": cursor} if cursor else {}


def _post(remote: Remote, path: str, body: Mapping[str, Any]) -> Any:
    answer = remote.send("POST", path, body=orjson.dumps(body), headers={"content-type": "application/json"})
    return orjson.loads(answer)


def _experiments(remote: Remote) -> Iterator[Mapping[str, Any]]:
    cursor: Any = None
    while True:
        body = _post(remote, "/api/2.0/mlflow/experiments/search", {"max_results": 1000} | _token(cursor))
        yield from body.get("experiments") or ()
        cursor = body.get("next_page_token")
        if not cursor:
            return


def _decode(trace: Mapping[str, Any]) -> Page:
    info = trace["trace_info"]
    id = str(info["trace_id"])
    resource = Resource(attributes=_resource(info))
    session = (info.get("trace_metadata") or {}).get("mlflow.trace.session")
    shared = {"session.id": session} if session else {}
    spans, bad_spans = read_each(f"trace {id}, span", trace.get("spans") or (), decode_span)
    trace_id = spans[0].trace_id if spans else TraceId(id.removeprefix("tr-"))
    valid = [raw for raw in info.get("assessments") or () if raw.get("valid", True)]
    logs, bad_scores = read_scores(valid, lambda raw: decode_assessment(raw, trace_id))
    return Page(
        spans=tuple(
            replace(span, resource=resource, attributes={**shared, **span.attributes})
            for span in spans
            if KIND not in span.attributes
        ),
        logs=logs,
        rejects=(*bad_spans, *bad_scores),
    )


def _resource(info: Mapping[str, Any]) -> dict[str, AnyValue]:
    tags = info.get("tags") or {}
    return {key: value for key, value in tags.items() if not key.startswith("mlflow.")}


def decode_assessment(raw: Mapping[str, Any], trace_id: TraceId) -> Score:
    """Returns feedback or an expectation about a trace or a span.

    Raises KeyError or FormatError when it has no id, name or time.
    """
    value = (raw.get("feedback") or raw.get("expectation") or {}).get("value")
    number = float(value) if isinstance(value, bool | int | float) else None
    source = raw.get("source") or {}
    return Score(
        origin="mlflow",
        id=str(raw["assessment_id"]),
        name=str(raw["assessment_name"]),
        value=number,
        label=str(value) if isinstance(value, bool) or (value is not None and number is None) else None,
        comment=raw.get("rationale"),
        data_type="expectation" if "expectation" in raw else "feedback",
        judge=str(source.get("source_type") or ""),
        author=str(source.get("source_id") or ""),
        trace_id=trace_id,
        span_id=SpanId(raw["span_id"]) if raw.get("span_id") else None,
        time_ns=parse_time(raw["create_time"]),
        updated_ns=parse_time(raw.get("last_update_time") or raw["create_time"]),
    )


@contextmanager
def open_source(
    selection: Selection, *, environ: Mapping[str, str] | None = None, patience: Patience | None = None
) -> Iterator[WindowedSource]:
    """Opens the server that `MLFLOW_TRACKING_URI` names."""
    with Remote(mlflow_account(environ=environ), patience=patience) as remote:
        reader = MlflowReader(remote, selection)
        yield WindowedSource(back_end=f"mlflow {remote.base_url}", selection=selection, steps=reader.steps)
