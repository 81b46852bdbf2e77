"""Views over what agents sent: spans, log records, model calls, tool executions, runs."""

from ... import conventions as c
from ..bodies import FOLDED
from ..conditions import CALL, FOREIGN
from ..nesting import NESTED, NESTED_APART
from ..promotion import MODEL_OPERATIONS
from .view import ERROR, IDS, LATENCY, SENDER, STARTED, USAGE, Column, View

_ATTRIBUTES = 'STRUCT("key" VARCHAR, kind VARCHAR, "value" VARCHAR)[]'

_EVENTS = f'STRUCT(time_ns UBIGINT, "name" VARCHAR, attributes {_ATTRIBUTES}, dropped_attributes_count BIGINT)[]'

_LINKS = (
    f"STRUCT(trace_id VARCHAR, span_id VARCHAR, trace_state VARCHAR, attributes {_ATTRIBUTES}, "
    "dropped_attributes_count BIGINT, flags BIGINT)[]"
)

_KIND = (
    "CASE kind WHEN 0 THEN 'unspecified' WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' "
    "WHEN 4 THEN 'producer' WHEN 5 THEN 'consumer' ELSE kind::VARCHAR END"
)

_STATUS = "CASE status_code WHEN 0 THEN 'unset' WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE status_code::VARCHAR END"

# Unsigned nanoseconds: the subtraction must not happen when clocks disagree.
_DURATION = "CASE WHEN end_ns > start_ns THEN (end_ns - start_ns) / 1e6 ELSE 0 END"

_COUNTS = f"{CALL} AND {NESTED} IS NOT TRUE AND NOT {NESTED_APART}(trace_id, span_id)"
"""A model call that no other call stands for."""

_TOOL_CALLS = 'STRUCT("name" VARCHAR, arguments VARCHAR)[]'

_ACTED = (
    Column("tool_names", "VARCHAR[]", "tool_names", "Tools that the reply calls."),
    Column(
        "tool_calls", _TOOL_CALLS, "tool_calls", "The calls; `argument(tool_calls, 'tool', '$.path')` looks inside."
    ),
    Column("reply_text", "VARCHAR", "reply_text", "What the reply says, its first 1,000 characters."),
)

SPANS = View(
    name="spans",
    help="Every span once, whoever sent it.",
    columns=(
        *IDS,
        Column("parent_span_id", "VARCHAR", "parent_span_id", "NULL for a root."),
        Column("name", "VARCHAR", "name", "Name of the span."),
        Column("kind", "VARCHAR", _KIND, "unspecified, internal, server, client, producer or consumer."),
        *SENDER,
        Column("user_id", "VARCHAR", "user_id", "User, when recorded."),
        STARTED,
        Column("ended", "TIMESTAMP", "make_timestamp((end_ns // 1000)::BIGINT)", "End, UTC."),
        Column("duration_ms", "DOUBLE", _DURATION, "0 when the clocks say that it ended before it began."),
        Column("status", "VARCHAR", _STATUS, "unset, ok or error."),
        Column("status_message", "VARCHAR", "status_message", "Text of the status."),
        ERROR,
        Column("operation", "VARCHAR", "operation", "chat, execute_tool, invoke_agent, embeddings, …"),
        Column("provider", "VARCHAR", "provider", "Provider, as recorded."),
        Column("request_model", "VARCHAR", "request_model", "Model asked for."),
        Column("response_model", "VARCHAR", "response_model", "Model that answered."),
        *USAGE,
        Column("finish_reason", "VARCHAR", "finish_reason", "As recorded: conventions spell it differently."),
        *_ACTED,
        Column("tool_name", "VARCHAR", "tool_name", "Tool that this span executes."),
        Column("attributes", _ATTRIBUTES, "attributes", "All attributes. Read one with `attr(attributes, 'key')`."),
        Column("events", _EVENTS, "events", "Span events."),
        Column("links", _LINKS, "links", "Links to other spans."),
        Column("resource", "VARCHAR", "resource", "Sender as JSON: `resource->>'$.attributes.\"host.name\"'`."),
        Column("scope", "VARCHAR", "scope", "Instrumentation scope as JSON."),
        Column("scope_name", "VARCHAR", "scope_name", "Name of the instrumentation scope."),
        Column("has_content", "BOOLEAN", "has_content", "The span itself carries message content."),
        Column("start_ns", "UBIGINT", "start_ns", "Start as sent, Unix ns."),
        Column("end_ns", "UBIGINT", "end_ns", "End as sent, Unix ns."),
        Column("trace_state", "VARCHAR", "trace_state", "W3C trace state."),
        Column("flags", "BIGINT", "flags", "W3C trace flags."),
        Column("dropped_attributes_count", "BIGINT", "dropped_attributes_count", "Attributes the SDK left out."),
        Column("dropped_events_count", "BIGINT", "dropped_events_count", "Events the SDK left out."),
        Column("dropped_links_count", "BIGINT", "dropped_links_count", "Links the SDK left out."),
        Column("seq", "BIGINT", "seq", "Order of arrival."),
        Column("received", "TIMESTAMP", "make_timestamp((received_ns // 1000)::BIGINT)", "Arrival, UTC."),
    ),
    source="FROM span_files",
)

LOG_RECORDS = View(
    name="log_records",
    help="Every log record; GenAI instrumentations put message content into records of a span.",
    columns=(
        Column("trace_id", "VARCHAR", "trace_id", "NULL when the record belongs to no trace."),
        Column("span_id", "VARCHAR", "span_id", "NULL when the record belongs to no span."),
        Column("time", "TIMESTAMP", "time", "When it happened (or was observed), UTC."),
        Column("event_name", "VARCHAR", "event_name", "Name of the event."),
        Column("severity_number", "INTEGER", "severity_number", "OTLP severity, 1 to 24."),
        Column("severity_text", "VARCHAR", "severity_text", "Severity as the sender calls it."),
        Column("body", "VARCHAR", "whole(body_kind, body)", "Body as text; JSON for structured ones."),
        Column(
            "body_kind",
            "VARCHAR",
            f"rtrim(body_kind, '{FOLDED}')",
            "string, int, double, bool, bytes, array, kvlist or none.",
        ),
        Column("attributes", _ATTRIBUTES, "attributes", "All attributes. Read one with `attr(attributes, 'key')`."),
        Column("service", "VARCHAR", "service", "`service.name` of the sender."),
        Column("scope_name", "VARCHAR", "scope_name", "Name of the instrumentation scope."),
        Column("resource", "VARCHAR", "resource", "Sender as JSON."),
        Column("scope", "VARCHAR", "scope", "Instrumentation scope as JSON."),
        Column("seq", "BIGINT", "seq", "Order of arrival."),
        Column("received", "TIMESTAMP", "make_timestamp((received_ns // 1000)::BIGINT)", "Arrival, UTC."),
    ),
    source="FROM log_record_files",
)

MESSAGES = View(
    name="messages",
    help="Long text of spans and log records, each piece once a trace: the table to search content in.",
    columns=(
        Column("trace_id", "VARCHAR", "trace_id", "Trace that holds the text."),
        Column("hash", "VARCHAR", "hash", "Beginning of the SHA-256 of the text, 32 hex digits."),
        Column("time", "TIMESTAMP", "time", "Start of the span that brought it first, UTC."),
        Column("body", "VARCHAR", "body", "The text."),
    ),
    source="FROM message_files",
)

_COMPLETENESS = "CASE WHEN NOT has_content THEN 'none' WHEN dropped_attributes_count > 0 THEN 'cut' ELSE 'content' END"

LLM_CALLS = View(
    name="llm_calls",
    help="One row a model call. Where instrumentations nest, the inner call with the content counts, agents never do.",
    columns=(
        *IDS,
        Column("parent_span_id", "VARCHAR", "parent_span_id", "NULL for a root."),
        STARTED,
        *SENDER,
        Column("user_id", "VARCHAR", "user_id", "User, when recorded."),
        Column("provider", "VARCHAR", "provider", "Provider, as recorded."),
        Column("model", "VARCHAR", "coalesce(request_model, response_model)", "Model asked for, else that answered."),
        Column("response_model", "VARCHAR", "response_model", "Model that answered."),
        Column("operation", "VARCHAR", "operation", ", ".join(MODEL_OPERATIONS)),
        *_ACTED,
        Column("finish_reason", "VARCHAR", "finish_reason", "As recorded."),
        ERROR,
        *USAGE,
        LATENCY,
        Column("name", "VARCHAR", "name", "Name of the span."),
        Column("scope_name", "VARCHAR", "scope_name", "Name of the instrumentation scope."),
        Column(
            "completeness",
            "VARCHAR",
            _COMPLETENESS,
            "content: messages are on the span; cut: but the SDK left some "
            "attributes out; none: not on the span. `whyspan calls` grades the rebuilt request.",
        ),
    ),
    source=f"""FROM (SELECT *, {_DURATION} AS duration_ms FROM span_files) AS call
WHERE {_COUNTS}""",
)

TOOL_CALLS = View(
    name="tool_calls",
    help="One row a tool execution.",
    columns=(
        *IDS,
        Column("parent_span_id", "VARCHAR", "parent_span_id", "NULL for a root."),
        STARTED,
        *SENDER,
        Column("tool_name", "VARCHAR", "coalesce(tool_name, name)", "Tool; the span's name where it is not recorded."),
        ERROR,
        LATENCY,
    ),
    source=f"FROM spans WHERE operation = 'execute_tool' AND {FOREIGN}",
)

RUNS = View(
    name="runs",
    help="One row a trace of an agent. Traces of whyspan's own spans only are not runs.",
    columns=(
        Column("run_id", "VARCHAR", "run.trace_id", "The trace id."),
        Column("started", "TIMESTAMP", "run.started", "Start of the first span, UTC."),
        Column("duration_ms", "DOUBLE", "run.duration_ms", "From the first start to the last end."),
        Column("service", "VARCHAR", "run.service", "`service.name` of the first span."),
        Column("session_id", "VARCHAR", "run.session_id", "Conversation, when recorded."),
        Column("name", "VARCHAR", "run.name", "Name of the root span; of the first one when the root is missing."),
        Column("spans", "BIGINT", "run.spans", "Spans."),
        Column("llm_calls", "BIGINT", "run.llm_calls", "Rows in `llm_calls`."),
        Column("tool_calls", "BIGINT", "run.tool_calls", "Rows in `tool_calls`."),
        Column("errors", "BIGINT", "run.errors", "Spans with an error."),
        Column("input_tokens", "BIGINT", "run.input_tokens", "Over the model calls."),
        Column("output_tokens", "BIGINT", "run.output_tokens", "Over the model calls."),
        Column("cost_usd", "DOUBLE", "run.cost_usd", "Over the model calls."),
        Column("scenario", "VARCHAR", "own.scenario", "Scenario that it played, where whyspan started it."),
        Column("generation", "INTEGER", "own.generation", "Generation of the scenario, from 1."),
        Column("score", "DOUBLE", "own.score", "What the scenario's evaluator gave, in [0, 1]."),
        Column("metrics", "JSON", "own.metrics", "More that the evaluator has measured."),
        Column("variables", "JSON", "own.variables", "Values of the sweep: `variables->>'model'`."),
        Column("parent_simulation_id", "VARCHAR", "own.parent_simulation_id", "The sweep that it is part of."),
    ),
    source=f"""FROM (
    SELECT trace_id, min(started) AS started,
      greatest(0, date_diff('microsecond', min(started), max(ended))) / 1e3 AS duration_ms,
      arg_min(service, start_ns) AS service, arg_min(session_id, start_ns) AS session_id,
      coalesce(arg_min(name, start_ns) FILTER (parent_span_id IS NULL), arg_min(name, start_ns)) AS name,
      count(*) AS spans, count(*) FILTER (operation = 'execute_tool') AS tool_calls, count(error) AS errors,
      count(*) FILTER (counts) AS llm_calls, sum(input_tokens) FILTER (counts) AS input_tokens,
      sum(output_tokens) FILTER (counts) AS output_tokens, sum(cost_usd) FILTER (counts) AS cost_usd
    FROM (SELECT *, {_COUNTS} AS counts, make_timestamp((end_ns // 1000)::BIGINT) AS ended FROM span_files)
    WHERE {FOREIGN} GROUP BY trace_id) AS run
LEFT JOIN (
    SELECT trace_id, attr(attributes, '{c.SCENARIO}') AS scenario, attr(attributes, '{c.RUN_METRICS}') AS metrics,
      attr(attributes, '{c.RUN_VARIABLES}') AS variables, attr(attributes, '{c.SIMULATION_ID}') AS parent_simulation_id,
      try_cast(attr(attributes, '{c.GENERATION}') AS INTEGER) AS generation,
      try_cast(attr(attributes, '{c.RUN_SCORE}') AS DOUBLE) AS score
    FROM spans WHERE scope_name = '{c.RUN_SCOPE}' AND parent_span_id IS NULL) AS own ON own.trace_id = run.trace_id""",
)
