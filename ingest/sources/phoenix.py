"""Import from a running Phoenix, by its REST API: spans, and annotations as scores.

Source: Phoenix 20.26 `/openapi.json`. Phoenix keeps no resource and no links, and rounds times to microseconds. It
translates `gen_ai.*` attributes to OpenInference and keeps both; `rebuild` takes the better of the two.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from ..conventions import KIND
from ..remote import Account, Patience, Remote
from ..spans import LogRecord, Resource, Span, SpanId, TraceId
from .decoded import Reject
from .evaluations import Score
from .proto_json import decode_span
from .reading import read_each, read_scores
from .source import Selection
from .times import format_time, parse_time
from .windows import Page, Step, Window, WindowedSource

DEFAULT_URL = "http://127.0.0.1:6006"
LIMIT = 200
"""Spans a page, of at most 1000: the annotations of a page are asked for by their ids, in one URL."""


def phoenix_account(*, environ: Mapping[str, str] | None = None) -> Account:
    """Returns where Phoenix is and the key, from the variables of Phoenix's own client."""
    env = os.environ if environ is None else environ
    url = env.get("PHOENIX_COLLECTOR_ENDPOINT") or env.get("PHOENIX_BASE_URL") or DEFAULT_URL
    key = env.get("PHOENIX_API_KEY")
    return Account(
        base_url=url.rstrip("/"),
        headers={"authorization": f"Bearer {key}"} if key else {},
        keys_hint="set PHOENIX_API_KEY to a key of this server",
    )


class PhoenixReader:
    """Reads the projects of a Phoenix server."""

    def __init__(self, remote: Remote, selection: Selection) -> None:
        self._remote = remote
        self._selection = selection

    def steps(self, window: Window) -> Mapping[str, Step]:
        """Returns a step for each project: its spans with their annotations."""
        projects = self._selection.projects or tuple(self._projects())
        return {name: partial(self._spans, name, window) for name in projects}

    def _projects(self) -> Iterator[str]:
        yield from (str(project["name"]) for project in _all(self._remote, "/v1/projects", {"limit": 100}))

    def _spans(self, project: str, window: Window, cursor: Any) -> Page:
        params: dict[str, str | int | list[str]] = {"limit": LIMIT}
        if self._selection.trace_ids:
            params["trace_id"] = list(self._selection.trace_ids)
        else:
            times = {"start_time": window.start, "end_time": window.end}
            params |= {name: format_time(value) for name, value in times.items() if value is not None}
        if cursor:
            params["cursor"] = cursor
        body = self._remote.get(f"/v1/projects/{project}/spans/otlpv1", params)
        spans, rejects = _decode(body["data"], project)
        scores, bad = self._annotations(project, spans)
        return Page(spans=tuple(spans), logs=scores, rejects=(*rejects, *bad), cursor=body.get("next_cursor"))

    def _annotations(self, project: str, spans: Sequence[Span]) -> tuple[tuple[LogRecord, ...], list[Reject]]:
        """Returns the annotations of spans and of the traces that begin among them."""
        traces = {span.span_id: span.trace_id for span in spans}
        roots = [span.trace_id for span in spans if span.parent_span_id is None]
        found: list[Mapping[str, Any]] = []
        for kind, name, ids in (("span", "span_ids", list(traces)), ("trace", "trace_ids", roots)):
            if ids:
                path = f"/v1/projects/{project}/{kind}_annotations"
                found += _all(self._remote, path, {name: [*ids], "limit": 1000})
        return read_scores(found, lambda raw: decode_annotation(raw, traces))


def _all(remote: Remote, path: str, params: Mapping[str, str | int | list[str]]) -> Iterator[Mapping[str, Any]]:
    cursor: dict[str, str | int | list[str]] = {}
    while True:
        body = remote.get(path, {**params, **cursor})
        yield from body["data"]
        if not body.get("next_cursor"):
            return
        cursor = {"cursor": body["next_cursor"]}


def _decode(documents: Sequence[Mapping[str, Any]], project: str) -> tuple[list[Span], list[Reject]]:
    # Phoenix takes the project from this resource attribute, and keeps no other one.
    resource = Resource(attributes={"openinference.project.name": project})
    spans, rejects = read_each(f"project {project}, span", documents, decode_span)
    # What whyspan wrote there comes from a store of its own.
    return [replace(span, resource=resource) for span in spans if KIND not in span.attributes], rejects


def decode_annotation(raw: Mapping[str, Any], traces: Mapping[SpanId, TraceId]) -> Score:
    """Returns an annotation of a span or a trace; `traces` is span → trace.

    Raises KeyError or FormatError when it has no id, name or time.
    """
    result = raw.get("result") or {}
    span = SpanId(raw["span_id"]) if raw.get("span_id") else None
    return Score(
        origin="phoenix",
        id=str(raw["id"]),
        name=str(raw["name"]),
        value=result.get("score"),
        label=result.get("label"),
        comment=result.get("explanation"),
        judge=str(raw.get("annotator_kind") or ""),
        author=str(raw.get("user_id") or ""),
        trace_id=traces[span] if span else TraceId(raw["trace_id"]),
        span_id=span,
        time_ns=parse_time(raw["created_at"]),
        updated_ns=parse_time(raw["updated_at"]),
    )


@contextmanager
def open_source(
    selection: Selection, *, environ: Mapping[str, str] | None = None, patience: Patience | None = None
) -> Iterator[WindowedSource]:
    """Opens the server that `PHOENIX_COLLECTOR_ENDPOINT` names, by default the one on this machine."""
    with Remote(phoenix_account(environ=environ), patience=patience) as remote:
        reader = PhoenixReader(remote, selection)
        yield WindowedSource(back_end=f"phoenix {remote.base_url}", selection=selection, steps=reader.steps)
