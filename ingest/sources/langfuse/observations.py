"""Langfuse observations as spans, without loss.

An observation of Langfuse's own SDKs gets the attributes that the SDK would have sent by OTLP. One that another
instrumentation sent by OTLP gets its attributes back, and its input and output under the key they were taken from, so
that the dialect of that instrumentation reads it. Fields that the server made are under `langfuse.server.*`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from ...spans import AnyValue, Resource, Scope, Span, SpanKind, StatusCode
from ..times import parse_time
from .ids import is_otel_trace, span_id_of, trace_id_of
from .metadata import Metadata, read_metadata

Observation = Mapping[str, Any]

SDK_SCOPE = "langfuse-sdk"
UPDATED_KEY = "langfuse.server.updated_at"
_O = "langfuse.observation."
_FIELDS = {
    "level": _O + "level",
    "version": "langfuse.version",
    "environment": "langfuse.environment",
    "release": "langfuse.release",
    "traceName": "langfuse.trace.name",
    "statusMessage": _O + "status_message",
    "completionStartTime": _O + "completion_start_time",
    "promptName": _O + "prompt.name",
    "promptVersion": _O + "prompt.version",
    "userId": "user.id",
    "sessionId": "session.id",
    "projectId": "langfuse.project.id",
    "updatedAt": UPDATED_KEY,
    "createdAt": "langfuse.server.created_at",
    "totalCost": "langfuse.server.total_cost",
    "promptId": "langfuse.server.prompt_id",
    "internalModelId": "langfuse.server.model_id",
    "modelId": "langfuse.server.model_id",
    "usagePricingTierName": "langfuse.server.pricing_tier",
    "bookmarked": "langfuse.server.bookmarked",
    "public": "langfuse.trace.public",
    "isRootObservation": "langfuse.server.is_root",
    "exportedTools": "gen_ai.tool.definitions",
}
"""Field of the API → attribute. The names without `server` are those of the SDK."""
_COSTS = {"input": "calculatedInputCost", "output": "calculatedOutputCost", "total": "calculatedTotalCost"}
"""Key of `cost_details` → field of a version 2 server."""
_CARRIERS = frozenset(
    {"events", "all_messages_events", "pydantic_ai.all_messages", "gen_ai.prompt", "ai.prompt.messages"}
)
"""Attributes that hold the messages and that Langfuse leaves in the metadata when it makes input and output of them."""
_TOOL_KEYS = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
_MESSAGE_KEYS = ("gen_ai.input.messages", "gen_ai.output.messages")


def decode_observation(observation: Observation) -> Span:
    """Returns the span of one observation, from the v1 or v2 API, or an export.

    Raises KeyError, TypeError or FormatError when it has no id or no start time.
    """
    id = str(observation["id"])
    trace = str(observation.get("traceId") or f"observation {id}")
    parent = observation.get("parentObservationId")
    trace_id, span_id = trace_id_of(trace), span_id_of(trace, id)
    metadata = read_metadata(observation.get("metadata"))
    attributes = _attributes(observation, metadata)
    # The ids in Langfuse's words where OpenTelemetry has others: links and scores need them.
    if observation.get("traceId") and trace_id != trace:
        attributes["langfuse.trace.id"] = trace
    if span_id != id:
        attributes[_O + "id"] = id
    start_ns = parse_time(observation["startTime"])
    end = observation.get("endTime")
    is_error = observation.get("level") == "ERROR"
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=span_id_of(trace, str(parent)) if parent else None,
        name=observation.get("name") or str(observation.get("type", "observation")).lower(),
        kind=SpanKind.INTERNAL,
        start_ns=start_ns,
        end_ns=parse_time(end) if end else start_ns,
        attributes=attributes,
        status_code=StatusCode.ERROR if is_error else StatusCode.UNSET,
        status_message=(observation.get("statusMessage") or "") if is_error else "",
        resource=_resource(orjson.dumps(metadata.resource)),
        scope=_scope(orjson.dumps(metadata.scope)),
    )


def is_finished(observation: Observation) -> bool:
    """Tells whether an observation has ended; events have no end."""
    return bool(observation.get("endTime")) or observation.get("type") == "EVENT"


@lru_cache
def _resource(attributes: bytes) -> Resource:
    """Returns the resource of JSON text: observations of one sender share the object, which spares encoding it anew."""
    return Resource(attributes=_values(orjson.loads(attributes)))


@lru_cache
def _scope(fields: bytes) -> Scope:
    """Returns the scope of JSON text, likewise shared."""
    known = orjson.loads(fields)
    raw = known.get("attributes")
    attributes = raw if isinstance(raw, Mapping) else {}
    flat = {k.removeprefix("attributes."): v for k, v in known.items() if k.startswith("attributes.")}
    return Scope(
        name=str(known.get("name") or SDK_SCOPE),
        version=str(known.get("version") or ""),
        attributes=_values({**attributes, **flat}),
    )


def _attributes(observation: Observation, metadata: Metadata) -> dict[str, AnyValue]:
    restored = _values(metadata.attributes)
    attributes: dict[str, AnyValue] = {**restored, _O + "type": str(observation.get("type", "SPAN")).lower()}
    for field, key in _FIELDS.items():
        if (value := observation.get(field)) is not None:
            attributes[key] = value
    for key, value in metadata.own.items():
        attributes[f"{_O}metadata.{key}"] = as_text(value)
    if tags := observation.get("tags"):
        attributes["langfuse.trace.tags"] = tuple(map(str, tags))
    attributes.update(_model(observation, is_sdk=not restored))
    attributes.update(_content(observation, restored))
    return attributes


def _model(observation: Observation, *, is_sdk: bool) -> Iterator[tuple[str, AnyValue]]:
    model = observation.get("providedModelName") or observation.get("model")
    if model:
        yield _O + "model.name", str(model)
    parameters = observation.get("modelParameters")
    if parameters:
        # The server derives them for spans of other instrumentations, and spoils some (null becomes "null").
        yield (_O if is_sdk else "langfuse.server.") + "model.parameters", as_text(parameters)
    if usage := _usage(observation):
        yield _O + "usage_details", as_text(usage)
    if costs := _costs(observation):
        yield _O + "cost_details", as_text(costs)


def _usage(observation: Observation) -> Mapping[str, Any]:
    details = observation.get("usageDetails")
    if isinstance(details, Mapping):
        return details
    usage = observation.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    # A version 2 server says 0 for what nobody reported.
    return {key: counts[key] for key in ("input", "output", "total") if counts.get(key)}


def _costs(observation: Observation) -> Mapping[str, Any]:
    details = observation.get("costDetails")
    if isinstance(details, Mapping) and details:
        return details
    return {key: observation[field] for key, field in _COSTS.items() if observation.get(field) is not None}


def _content(observation: Observation, restored: Mapping[str, AnyValue]) -> Iterator[tuple[str, AnyValue]]:
    for key, field in zip(_content_keys(observation, restored), ("input", "output"), strict=True):
        value = observation.get(field)
        if value is not None and key not in restored:
            yield key, as_text(value)


def _content_keys(observation: Observation, restored: Mapping[str, AnyValue]) -> tuple[str, str]:
    """Returns the keys that Langfuse took input and output from."""
    if "openinference.span.kind" in restored:
        return "input.value", "output.value"
    if restored.get("gen_ai.operation.name") == "execute_tool":
        return _TOOL_KEYS
    if any(key.startswith("gen_ai.") for key in restored) and _has_parts(observation):
        return _MESSAGE_KEYS
    if not _CARRIERS.isdisjoint(restored):
        return "langfuse.server.input", "langfuse.server.output"
    return _O + "input", _O + "output"


def _has_parts(observation: Observation) -> bool:
    """Tells messages in the form of the GenAI conventions, a list of objects with `parts`, from any other content."""
    for field in ("input", "output"):
        value = observation.get(field)
        try:
            parsed = orjson.loads(value) if isinstance(value, str) else value
        except ValueError:
            continue
        if isinstance(parsed, list) and any(isinstance(item, Mapping) and "parts" in item for item in parsed):
            return True
    return False


def _values(attributes: Mapping[str, Any]) -> dict[str, AnyValue]:
    return {key: _value(value) for key, value in attributes.items() if value is not None}


def _value(value: Any) -> AnyValue:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | bool | int | float) for item in value):
        return tuple(value)
    return as_text(value) if isinstance(value, Mapping | list) else value


def as_text(value: Any) -> str:
    """Returns text as it is and any other value as JSON, which is what Langfuse's SDK sends."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def with_trace(observations: Iterable[Observation], trace: Mapping[str, Any]) -> Iterator[Observation]:
    """Yields the observations of a v1 trace with what the v2 API would say about the trace on each of them.

    Traces of SDKs before OpenTelemetry are no observation themselves: those get one, as the root, since input, output
    and metadata of the trace are nowhere else.
    """
    shared = {
        "traceName": trace.get("name"),
        **{key: trace.get(key) for key in ("userId", "sessionId", "release", "tags", "public", "environment")},
    }
    needs_root = not is_otel_trace(str(trace["id"]))
    for observation in observations:
        parent = observation.get("parentObservationId") or (str(trace["id"]) if needs_root else None)
        known = {key: value for key, value in observation.items() if value is not None}
        yield {**shared, **known, "traceId": trace["id"], "parentObservationId": parent}
    if needs_root:
        yield _root(trace, shared)


def _root(trace: Mapping[str, Any], shared: Mapping[str, Any]) -> Observation:
    inner = [o for o in trace.get("observations") or () if isinstance(o, Mapping)]
    ends = [str(o["endTime"]) for o in inner if o.get("endTime")]
    return {
        **shared,
        **{key: trace.get(key) for key in ("id", "input", "output", "metadata", "version", "projectId", "updatedAt")},
        "traceId": trace["id"],
        "type": "SPAN",
        "name": trace.get("name") or "trace",
        "startTime": min([str(trace["timestamp"]), *(str(o["startTime"]) for o in inner)]),
        "endTime": max(ends, default=trace["timestamp"]),
    }
