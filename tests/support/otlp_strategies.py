"""Spans and log records that say everything OTLP can say."""

from typing import Any

from hypothesis import strategies as st

from whyspan.ingest.spans import Link, LogRecord, Resource, Scope, Span, SpanEvent, SpanId, TraceId

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
uint32 = st.integers(0, 2**32 - 1)
time_ns = st.integers(0, 2**64 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
scalars = st.one_of(
    st.none(), text, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=True), st.binary(max_size=8)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(text, st.sampled_from(["$bytes", "$double", "$$bytes"])), inner, max_size=3),
    ),
    max_leaves=8,
)
attributes = st.dictionaries(text, values, max_size=4)
trace_ids = st.binary(min_size=16, max_size=16).filter(any).map(lambda b: TraceId(b.hex()))
span_ids = st.binary(min_size=8, max_size=8).filter(any).map(lambda b: SpanId(b.hex()))
resources = st.builds(Resource, attributes=attributes, dropped_attributes_count=uint32, schema_url=text)
scopes = st.builds(
    Scope, name=text, version=text, attributes=attributes, dropped_attributes_count=uint32, schema_url=text
)
events = st.builds(SpanEvent, time_ns=time_ns, name=text, attributes=attributes, dropped_attributes_count=uint32)
links = st.builds(
    Link,
    trace_id=trace_ids,
    span_id=span_ids,
    trace_state=text,
    attributes=attributes,
    dropped_attributes_count=uint32,
    flags=uint32,
)
spans = st.builds(
    Span,
    trace_id=trace_ids,
    span_id=span_ids,
    parent_span_id=st.none() | span_ids,
    name=text,
    kind=int32,
    start_ns=time_ns,
    end_ns=time_ns,
    attributes=attributes,
    events=st.lists(events, max_size=2).map(tuple),
    links=st.lists(links, max_size=2).map(tuple),
    status_code=int32,
    status_message=text,
    trace_state=text,
    flags=uint32,
    dropped_attributes_count=uint32,
    dropped_events_count=uint32,
    dropped_links_count=uint32,
    resource=resources,
    scope=scopes,
)
records = st.builds(
    LogRecord,
    trace_id=trace_ids,
    span_id=st.none() | span_ids,
    time_ns=time_ns,
    observed_time_ns=time_ns,
    event_name=text,
    severity_number=int32,
    severity_text=text,
    body=values,
    attributes=attributes,
    flags=uint32,
    dropped_attributes_count=uint32,
    resource=resources,
    scope=scopes,
)
