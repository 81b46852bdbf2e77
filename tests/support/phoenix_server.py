"""A Phoenix server that holds what a test gives it: spans of projects, and annotations."""

from collections.abc import Mapping
from typing import Any

from backend_server import Answer, Backend, Call


class PhoenixServer(Backend):
    """Spans are given in the form of the REST API (`otlpv1`)."""

    def __init__(self) -> None:
        super().__init__()
        self.projects: dict[str, list[dict[str, Any]]] = {"default": []}
        self.annotations: dict[tuple[str, str, str], dict[str, Any]] = {}
        """(span, name, identifier) → annotation: Phoenix updates one that is sent again."""
        self.key = "phoenix-key"
        self.page_limit: int | None = None
        self.loses_annotations = False
        """Answer well and keep nothing, as Phoenix does for unsynchronised annotations of unknown spans."""

    def _is_allowed(self, call: Call) -> bool:
        return call.headers.get("authorization") == f"Bearer {self.key}"

    def answer(self, call: Call) -> Answer:
        match call.path.strip("/").split("/"):
            case ["v1", "projects"]:
                return Answer(body={"data": [{"name": p, "id": p} for p in self.projects], "next_cursor": None})
            case ["v1", "projects", project, "spans", "otlpv1"] if project in self.projects:
                return self._spans(call, self.projects[project])
            case ["v1", "projects", _, "span_annotations"]:
                wanted = set(call.query["span_ids"])
                found = [a for (span, _, _), a in self.annotations.items() if span in wanted]
                return Answer(body={"data": found, "next_cursor": None})
            case ["v1", "projects", _, "trace_annotations"]:
                return Answer(body={"data": [], "next_cursor": None})
            case ["v1", "span_annotations"] if call.method == "POST":
                return self._annotate(call)
        return Answer(404, {"detail": "Not Found"})

    def _spans(self, call: Call, spans: list[dict[str, Any]]) -> Answer:
        wanted = call.query.get("trace_id")
        chosen = [s for s in reversed(spans) if not wanted or s["trace_id"] in wanted]
        start = int(call.one("cursor", "0"))
        limit = min(int(call.one("limit", "100")), self.page_limit or 1000)
        more = str(start + limit) if start + limit < len(chosen) else None
        return Answer(body={"data": chosen[start : start + limit], "next_cursor": more})

    def _annotate(self, call: Call) -> Answer:
        known = {span["span_id"] for spans in self.projects.values() for span in spans}
        if call.one("sync") != "true" or self.loses_annotations:
            return Answer(body={"data": []})
        if any(a["span_id"] not in known for a in call.body["data"]):
            return Answer(404, {"detail": "spans do not exist"})
        for raw in call.body["data"]:
            self.annotations[raw["span_id"], raw["name"], raw["identifier"]] = annotation(raw)
        return Answer(body={"data": [{"id": a["identifier"]} for a in call.body["data"]]})


def annotation(raw: Mapping[str, Any]) -> dict[str, Any]:
    moment = "2026-11-30T12:00:00+00:00"
    fixed: dict[str, Any] = {
        "created_at": moment,
        "updated_at": moment,
        "source": "API",
        "user_id": None,
        "metadata": {},
    }
    return {**fixed, "id": f"{raw['span_id']}-{raw['name']}", "identifier": "", **raw}


def rest_span(trace_id: str, span_id: str, *, parent: str | None = None, **attributes: str) -> dict[str, Any]:
    """Returns a span as Phoenix's REST API does: every field there, most of them null."""
    kinds = ("array_value", "bool_value", "bytes_value", "double_value", "int_value", "kvlist_value")
    nothing = dict.fromkeys(kinds)
    return {
        "trace_id": trace_id,
        "span_id": span_id,
        "parent_span_id": parent,
        "name": "call",
        "kind": "SPAN_KIND_INTERNAL",
        "start_time_unix_nano": 1796057815961637888,
        "end_time_unix_nano": 1796057816282025216,
        "attributes": [{"key": k, "value": {**nothing, "string_value": v}} for k, v in attributes.items()],
        "events": None,
        "links": None,
        "flags": None,
        "trace_state": None,
        "status": {"code": 1, "message": None},
        "dropped_attributes_count": None,
    }
