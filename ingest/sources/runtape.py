"""Traces of runtape (JSON lines, one event a line), as spans that hold each model request and reply verbatim.

Source: runtape 0.5.0, `recorder.py`. Messages are stored as what was appended to an earlier request; the system prompt
and the tools only when they change.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..conventions import RECORD_REQUEST, RECORD_RESPONSE, RECORD_SCOPE
from ..spans import Resource, Scope, Span, SpanId, SpanKind, StatusCode, TraceId
from .decoded import Decoded, Reject

_EXCERPT = 200
_KEYS = {"id", "ts", "type", "payload"}


def is_record(document: Any) -> bool:
    """Tells whether an object is an event of a runtape trace."""
    return isinstance(document, Mapping) and set(document) >= _KEYS and isinstance(document["payload"], Mapping)


def decode_records(documents: Iterable[tuple[str, Any]]) -> Decoded:
    """Returns a span for each model call and tool call of a trace, under one span for the run."""
    run = _Run()
    rejects: list[Reject] = []
    for place, document in documents:
        if not is_record(document):
            rejects.append(Reject(place=place, reason="not a runtape event", excerpt=str(document)[:_EXCERPT]))
            continue
        try:
            run.add(document)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"a runtape {document.get('type')} event that cannot be read: {error!r}"
            rejects.append(Reject(place=place, reason=reason, excerpt=str(document)[:_EXCERPT]))
    return Decoded(spans=tuple(run.finish()), rejects=tuple(rejects))


@dataclass
class _Run:
    """The events of one trace, gathered into spans."""

    name: str = "run"
    run_id: str = ""
    spans: list[Span] = field(default_factory=list)
    open: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Requests and tool calls whose answer has not come yet."""
    messages: dict[int, list[Any]] = field(default_factory=dict)
    system: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    bodies: dict[int, dict[str, Any]] = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0

    def add(self, event: Mapping[str, Any]) -> None:
        """Takes one event, in the order of the file."""
        time_ns = int(float(event["ts"]) * 1e9)
        self.start_ns = self.start_ns or time_ns
        self.end_ns = max(self.end_ns, time_ns)
        kind, payload = event["type"], event["payload"]
        if kind == "run_start":
            self.name, self.run_id = str(payload.get("name") or "run"), str(payload.get("run_id", ""))
        elif kind == "llm_request":
            self.bodies[event["id"]] = self._body(event["id"], payload)
            self.open[event["id"]] = event
        elif kind == "tool_call":
            self.open[event["id"]] = event
        elif kind in ("llm_response", "tool_result") and event.get("parent") in self.open:
            self._close(self.open.pop(event["parent"]), event, time_ns)

    def _body(self, event_id: int, payload: Mapping[str, Any]) -> dict[str, Any]:
        provider = str(payload.get("provider", ""))
        base = self.messages[payload["base"]] if "base" in payload else []
        messages = [*base, *(payload.get("messages") or payload.get("messages_append") or [])]
        self.messages[event_id] = messages
        for key, memory in (("system", self.system), ("tools", self.tools)):
            if key in payload:
                memory[provider] = payload[key]
        is_responses = payload.get("api") == "responses"
        body = {
            "model": payload.get("model"),
            "input" if is_responses else "messages": messages,
            "instructions" if is_responses else "system": self.system.get(provider),
            "tools": self.tools.get(provider),
            **(payload.get("params") or {}),
        }
        return {key: value for key, value in body.items() if value is not None}

    def _close(self, opened: Mapping[str, Any], answer: Mapping[str, Any] | None, end_ns: int) -> None:
        payload = opened["payload"]
        outcome = answer["payload"] if answer else {}
        attributes = (
            self._model_attributes(opened["id"], payload, outcome)
            if opened["type"] == "llm_request"
            else _tool_attributes(payload, outcome)
        )
        name = f"{attributes['gen_ai.operation.name']} {payload.get('model') or payload.get('name') or ''}".strip()
        self.spans.append(
            self._span(str(opened["id"]), name, int(float(opened["ts"]) * 1e9), end_ns, attributes, outcome)
        )

    def _model_attributes(
        self, event_id: int, payload: Mapping[str, Any], outcome: Mapping[str, Any]
    ) -> dict[str, Any]:
        raw = outcome.get("raw")
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": str(payload.get("provider", "")),
            "gen_ai.request.model": str(payload.get("model") or ""),
            RECORD_REQUEST: json.dumps(self.bodies[event_id], ensure_ascii=False),
            **({RECORD_RESPONSE: json.dumps(raw, ensure_ascii=False)} if raw is not None else {}),
        }

    def _span(
        self, key: str, name: str, start_ns: int, end_ns: int, attributes: dict[str, Any], outcome: Mapping[str, Any]
    ) -> Span:
        error = outcome.get("error")
        return Span(
            trace_id=TraceId(self._id("trace")[:32]),
            span_id=SpanId(self._id(key)[:16]),
            parent_span_id=None if key == "run" else SpanId(self._id("run")[:16]),
            name=name,
            kind=SpanKind.INTERNAL,
            start_ns=start_ns,
            end_ns=end_ns,
            attributes=attributes,
            status_code=StatusCode.ERROR if error else StatusCode.UNSET,
            status_message=str(error.get("message", "")) if isinstance(error, Mapping) else "",
            resource=Resource(attributes={"service.name": self.name}),
            scope=Scope(name=RECORD_SCOPE),
        )

    def _id(self, key: str) -> str:
        # The same file gives the same ids, so that importing it twice stores it once.
        return hashlib.sha256(f"runtape\0{self.run_id}\0{self.start_ns}\0{key}".encode()).hexdigest()

    def finish(self) -> list[Span]:
        """Returns the spans; calls without an answer end with the run."""
        if not self.start_ns:
            return []
        for opened in list(self.open.values()):
            self._close(opened, None, self.end_ns)
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self.name}
        return [self._span("run", self.name, self.start_ns, self.end_ns, attributes, {}), *self.spans]


def _tool_attributes(payload: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": str(payload.get("name", "")),
        "gen_ai.tool.call.arguments": json.dumps(payload.get("arguments"), ensure_ascii=False),
    }
    if payload.get("call_id"):
        attributes["gen_ai.tool.call.id"] = str(payload["call_id"])
    if "result" in outcome:
        result = outcome["result"]
        attributes["gen_ai.tool.call.result"] = (
            result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        )
    return attributes
