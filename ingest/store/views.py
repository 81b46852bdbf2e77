"""The views that users query. Their columns are a public contract: they are defined and documented here, nowhere else.

Times are TIMESTAMP in UTC, ids lowercase hex, money US dollars; NULL means that the span did not say.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .. import conventions as c
from .bodies import FOLDED
from .promotion import MODEL_OPERATIONS

_ARGUMENT = (
    "list_filter(list_transform(list_filter(tool_calls, lambda call: call.name = tool AND json_valid(call.arguments)), "
    "lambda call: call.arguments ->> path), lambda value: value IS NOT NULL)[1]"
)
MACROS = (
    f"CREATE MACRO whole(kind, text) AS (CASE WHEN ends_with(kind, '{FOLDED}') THEN unfold(text) ELSE text END)",
    "CREATE MACRO pair_text(pair) AS (whole(pair.kind, pair.value))",
    "CREATE MACRO attr(attributes, name) AS (pair_text(list_filter(attributes, lambda pair: pair.key = name)[1]))",
    f"CREATE MACRO argument(tool_calls, tool, path) AS ({_ARGUMENT})",
)
"""`attr(attributes, 'key')`: the value of an attribute as text, NULL when there is none.
`argument(tool_calls, 'tool', '$.path')`: what a call of the tool passes there, as text, NULL when nothing does.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view."""

    name: str
    type: str
    """DuckDB type."""
    sql: str
    """How it is computed from the view's source."""
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view: `SELECT columns FROM source`."""

    name: str
    help: str
    columns: tuple[Column, ...]
    source: str

    @property
    def sql(self) -> str:
        """The statement that creates the view."""
        columns = ",\n  ".join(f'({column.sql})::{column.type} AS "{column.name}"' for column in self.columns)
        return f"CREATE VIEW {self.name} AS SELECT\n  {columns}\n{self.source}"


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
_OWN = f"scope_name = '{c.SCOPE_NAME}'"
_FOREIGN = f"scope_name IS DISTINCT FROM '{c.SCOPE_NAME}'"
_MODEL = "operation IN ({})".format(", ".join(f"'{name}'" for name in MODEL_OPERATIONS))


def _same(type: str, *columns: tuple[str, str]) -> Iterator[Column]:
    return (Column(name, type, name, help) for name, help in columns)


_IDS = tuple(_same("VARCHAR", ("trace_id", "Trace, 32 hex digits."), ("span_id", "Span, 16 hex digits.")))
_SENDER = tuple(_same("VARCHAR", ("service", "`service.name` of the sender."), ("session_id", "Conversation.")))
_STARTED = Column("started", "TIMESTAMP", "started", "Start, UTC.")
_USAGE = (
    Column("input_tokens", "BIGINT", "input_tokens", "Tokens of the request."),
    Column("output_tokens", "BIGINT", "output_tokens", "Tokens of the reply."),
    Column("cost_usd", "DOUBLE", "cost_usd", "Cost as recorded; never computed here."),
)
_ERROR = Column("error", "VARCHAR", "error", "Error type or message; NULL when nothing failed.")
_LATENCY = Column("latency_ms", "DOUBLE", "duration_ms", "Duration in milliseconds.")

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
        *_IDS,
        Column("parent_span_id", "VARCHAR", "parent_span_id", "NULL for a root."),
        Column("name", "VARCHAR", "name", "Name of the span."),
        Column("kind", "VARCHAR", _KIND, "unspecified, internal, server, client, producer or consumer."),
        *_SENDER,
        Column("user_id", "VARCHAR", "user_id", "User, when recorded."),
        _STARTED,
        Column("ended", "TIMESTAMP", "make_timestamp((end_ns // 1000)::BIGINT)", "End, UTC."),
        Column("duration_ms", "DOUBLE", _DURATION, "0 when the clocks say that it ended before it began."),
        Column("status", "VARCHAR", _STATUS, "unset, ok or error."),
        Column("status_message", "VARCHAR", "status_message", "Text of the status."),
        _ERROR,
        Column("operation", "VARCHAR", "operation", "chat, execute_tool, invoke_agent, embeddings, …"),
        Column("provider", "VARCHAR", "provider", "Provider, as recorded."),
        Column("request_model", "VARCHAR", "request_model", "Model asked for."),
        Column("response_model", "VARCHAR", "response_model", "Model that answered."),
        *_USAGE,
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
        *_IDS,
        Column("parent_span_id", "VARCHAR", "parent_span_id", "NULL for a root."),
        _STARTED,
        *_SENDER,
        Column("user_id", "VARCHAR", "user_id", "User, when recorded."),
        Column("provider", "VARCHAR", "provider", "Provider, as recorded."),
        Column("model", "VARCHAR", "coalesce(request_model, response_model)", "Model asked for, else that answered."),
        Column("response_model", "VARCHAR", "response_model", "Model that answered."),
        Column("operation", "VARCHAR", "operation", ", ".join(MODEL_OPERATIONS)),
        *_ACTED,
        Column("finish_reason", "VARCHAR", "finish_reason", "As recorded."),
        _ERROR,
        *_USAGE,
        _LATENCY,
        Column("name", "VARCHAR", "name", "Name of the span."),
        Column(
            "completeness",
            "VARCHAR",
            _COMPLETENESS,
            "content: messages are on the span; cut: but the SDK left some "
            "attributes out; none: not on the span. `whyspan calls` grades the rebuilt request.",
        ),
    ),
    source=f"""FROM (SELECT * FROM spans WHERE {_MODEL} AND {_FOREIGN}) AS call
WHERE NOT EXISTS (
    SELECT 1 FROM spans AS inner_call
    WHERE inner_call.trace_id = call.trace_id AND inner_call.parent_span_id = call.span_id
      AND inner_call.{_MODEL} AND inner_call.has_content AND inner_call.{_FOREIGN})
  AND (call.has_content OR NOT EXISTS (
    SELECT 1 FROM spans AS outer_call
    WHERE outer_call.trace_id = call.trace_id AND outer_call.span_id = call.parent_span_id
      AND outer_call.{_MODEL} AND outer_call.{_FOREIGN}))""",
)

TOOL_CALLS = View(
    name="tool_calls",
    help="One row a tool execution.",
    columns=(
        *_IDS,
        Column("parent_span_id", "VARCHAR", "parent_span_id", "NULL for a root."),
        _STARTED,
        *_SENDER,
        Column("tool_name", "VARCHAR", "coalesce(tool_name, name)", "Tool; the span's name where it is not recorded."),
        _ERROR,
        _LATENCY,
    ),
    source=f"FROM spans WHERE operation = 'execute_tool' AND {_FOREIGN}",
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
        Column("llm_calls", "BIGINT", "coalesce(calls.llm_calls, 0)", "Rows in `llm_calls`."),
        Column("tool_calls", "BIGINT", "run.tool_calls", "Rows in `tool_calls`."),
        Column("errors", "BIGINT", "run.errors", "Spans with an error."),
        Column("input_tokens", "BIGINT", "calls.input_tokens", "Over the model calls."),
        Column("output_tokens", "BIGINT", "calls.output_tokens", "Over the model calls."),
        Column("cost_usd", "DOUBLE", "calls.cost_usd", "Over the model calls."),
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
      count(*) AS spans, count(*) FILTER (operation = 'execute_tool') AS tool_calls, count(error) AS errors
    FROM spans WHERE {_FOREIGN} GROUP BY trace_id) AS run
LEFT JOIN (
    SELECT trace_id, count(*) AS llm_calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
      sum(cost_usd) AS cost_usd
    FROM llm_calls GROUP BY trace_id) AS calls ON calls.trace_id = run.trace_id
LEFT JOIN (
    SELECT trace_id, attr(attributes, '{c.SCENARIO}') AS scenario, attr(attributes, '{c.RUN_METRICS}') AS metrics,
      attr(attributes, '{c.RUN_VARIABLES}') AS variables, attr(attributes, '{c.SIMULATION_ID}') AS parent_simulation_id,
      try_cast(attr(attributes, '{c.GENERATION}') AS INTEGER) AS generation,
      try_cast(attr(attributes, '{c.RUN_SCORE}') AS DOUBLE) AS score
    FROM spans WHERE scope_name = '{c.RUN_SCOPE}' AND parent_span_id IS NULL) AS own ON own.trace_id = run.trace_id""",
)


def _attribute(name: str, type: str, key: str, help: str, attributes: str = "attributes") -> Column:
    return Column(name, type, f"try_cast(attr({attributes}, '{key}') AS {type})", help)


_DECISION = (
    _attribute("decision_trace_id", "VARCHAR", c.DECISION_TRACE_ID, "Trace of the decision."),
    _attribute("decision_span_id", "VARCHAR", c.DECISION_SPAN_ID, "Span of the decision."),
    _attribute("case_id", "VARCHAR", c.CASE_ID, "Digest of the frozen request and target."),
    _attribute("target", "VARCHAR", c.TARGET, "The outcome asked about."),
)

TRIALS = View(
    name="trials",
    help="One row a replay.",
    columns=(
        *_IDS,
        _STARTED,
        *_DECISION,
        _attribute("intervention_id", "VARCHAR", c.INTERVENTION_ID, "Digest of the edit."),
        _attribute("intervention_kind", "VARCHAR", c.INTERVENTION_KIND, "noop, drop, replace or insert."),
        _attribute("intervention", "VARCHAR", c.INTERVENTION_SUMMARY, "The edit in words."),
        _attribute("sample", "INTEGER", c.TRIAL_SAMPLE, "Sample index, from 0."),
        _attribute("outcome", "VARCHAR", c.TRIAL_OUTCOME, "target, other or asks."),
        Column("model", "VARCHAR", "coalesce(request_model, response_model)", "Model replayed on."),
        _ERROR,
        *_USAGE,
        _LATENCY,
    ),
    source=f"FROM spans WHERE {_OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_TRIAL}'",
)

CLAIMS = View(
    name="claims",
    help="One row a verdict of an experiment.",
    columns=(
        *_IDS,
        _STARTED,
        _attribute("claim_id", "VARCHAR", c.CLAIM_ID, "Digest of the claim."),
        *_DECISION,
        _attribute("kind", "VARCHAR", c.CLAIM_KIND, "cause, fix or none."),
        _attribute("verdict", "VARCHAR", c.CLAIM_VERDICT, "supported, refuted, inconclusive or harmful."),
        _attribute("scope", "VARCHAR", c.CLAIM_SCOPE, "case or population."),
        _attribute("detail", "VARCHAR", c.CLAIM_DETAIL, "More about the kind, as `conventions.py` says."),
        _attribute("subject", "VARCHAR", c.CLAIM_SUBJECT, "What was removed or inserted."),
        _attribute("intervention_id", "VARCHAR", c.INTERVENTION_ID, "Digest of the edit."),
        _attribute("intervention_kind", "VARCHAR", c.INTERVENTION_KIND, "drop, replace or insert."),
        _attribute("effect", "DOUBLE", c.CLAIM_EFFECT, "Rate with the edit minus the base rate."),
        _attribute("base_rate", "DOUBLE", c.CLAIM_BASE_RATE, "Rate of the outcome without an edit."),
        _attribute("base_n", "INTEGER", c.CLAIM_BASE_N, "Replays without an edit."),
        _attribute("rate", "DOUBLE", c.CLAIM_RATE, "Rate of the outcome with the edit."),
        _attribute("n", "INTEGER", c.CLAIM_N, "Replays with the edit."),
        _attribute("interval_low", "DOUBLE", c.CLAIM_INTERVAL_LOW, "95 % interval of the effect."),
        _attribute("interval_high", "DOUBLE", c.CLAIM_INTERVAL_HIGH, "95 % interval of the effect."),
        _attribute("e_value", "DOUBLE", c.CLAIM_E_VALUE, "Evidence; supported needs at least 1 / alpha."),
        _attribute("alpha", "DOUBLE", c.CLAIM_ALPHA, "Level the e-value was compared with."),
        _attribute("calls", "INTEGER", c.CLAIM_CALLS, "Replays used up to the claim."),
    ),
    source=f"FROM spans WHERE {_OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_CLAIM}'",
)

_SCORE = (
    Column("name", "VARCHAR", "name", "What was judged."),
    Column("value", "DOUBLE", "try_cast(value AS DOUBLE)", "The score, when it is a number."),
    Column("label", "VARCHAR", "label", "The score in a word."),
    Column("explanation", "VARCHAR", "explanation", "Why."),
    Column("source", "VARCHAR", "source", "`service.name` of who judged; langfuse, phoenix or mlflow when imported."),
)
_IMPORTED_SCORE = (
    _attribute("session_id", "VARCHAR", "session.id", "Conversation that was judged, when it is one.", "said"),
    _attribute("judge", "VARCHAR", c.SCORE_JUDGE, "Kind of judge, when imported: HUMAN, LLM, CODE, API, …", "said"),
    _attribute("author", "VARCHAR", c.SCORE_AUTHOR, "The person or program, when recorded.", "said"),
    _attribute("score_id", "VARCHAR", c.SCORE_ID, "Id where it is imported from.", "said"),
)
_EVENT = c.EVALUATION_EVENT

SCORES = View(
    name="scores",
    help="Judgements of others about a run or one of its spans: OTel evaluation results, OpenInference evaluations.",
    columns=(
        Column("trace_id", "VARCHAR", "trace_id", "Trace that was judged."),
        Column("span_id", "VARCHAR", "span_id", "Span that was judged; NULL when it is the run as a whole."),
        _STARTED,
        *_SCORE,
        *_IMPORTED_SCORE,
    ),
    source=f"""FROM (
    SELECT trace_id, parent_span_id AS span_id, started, service AS source, unnest(list_filter(events,
      lambda event: event.name = '{_EVENT}')).attributes AS said, attr(said, 'gen_ai.evaluation.name') AS name,
      attr(said, 'gen_ai.evaluation.score.value') AS value, attr(said, 'gen_ai.evaluation.score.label') AS label,
      attr(said, 'gen_ai.evaluation.explanation') AS explanation
    FROM spans WHERE operation = 'evaluate' AND {_FOREIGN}
    UNION ALL BY NAME
    SELECT trace_id, span_id, time AS started, service AS source, attributes AS said,
      attr(said, 'gen_ai.evaluation.name') AS name, attr(said, 'gen_ai.evaluation.score.value') AS value,
      attr(said, 'gen_ai.evaluation.score.label') AS label, attr(said, 'gen_ai.evaluation.explanation') AS explanation
    FROM log_records WHERE event_name = '{_EVENT}' AND {_FOREIGN}
    -- A score that was changed is imported again under its id; the one updated last counts.
    QUALIFY attr(said, '{c.SCORE_ID}') IS NULL OR row_number() OVER (
      PARTITION BY service, attr(said, '{c.SCORE_ID}') ORDER BY attr(said, '{c.SCORE_UPDATED}') DESC, seq DESC) = 1
    UNION ALL BY NAME
    SELECT trace_id, parent_span_id AS span_id, started, service AS source, attributes AS said,
      attr(said, 'evaluations.0.evaluation.name') AS name, attr(said, 'evaluations.0.evaluation.score') AS value,
      attr(said, 'evaluations.0.evaluation.label') AS label,
      attr(said, 'evaluations.0.evaluation.explanation') AS explanation
    FROM spans WHERE operation = 'evaluate' AND {_FOREIGN}
      AND NOT list_contains(list_transform(events, lambda event: event.name), '{_EVENT}'))
WHERE name IS NOT NULL""",
)

_DECIDED = (
    Column("trace_id", "VARCHAR", "call.trace_id", "Trace, 32 hex digits: the run."),
    Column("span_id", "VARCHAR", "call.span_id", "Span, 16 hex digits."),
    Column("started", "TIMESTAMP", "call.started", "Start, UTC."),
    *_SENDER,
    Column("user_id", "VARCHAR", "user_id", "User, when recorded."),
    Column("provider", "VARCHAR", "provider", "Provider, as recorded."),
    Column("model", "VARCHAR", "model", "Model asked for, else that answered."),
    *_ACTED,
    Column("finish_reason", "VARCHAR", "finish_reason", "As recorded."),
    _ERROR,
    *_USAGE,
    Column("latency_ms", "DOUBLE", "latency_ms", "Duration in milliseconds."),
    Column("completeness", "VARCHAR", "completeness", "content, cut or none, as in `llm_calls`."),
)

UNSCORED_DECISIONS = View(
    name="unscored_decisions",
    help="`decisions` without their scores: much cheaper to list in a large store.",
    columns=(
        *_DECIDED,
        Column("claims", "BIGINT", "coalesce(made.claims, 0)", "Claims about this decision in the store."),
    ),
    source="""FROM llm_calls AS call
LEFT JOIN (
    SELECT decision_trace_id, decision_span_id, count(*) AS claims FROM claims GROUP BY ALL) AS made
  ON made.decision_trace_id = call.trace_id AND made.decision_span_id = call.span_id""",
)

DECISIONS = View(
    name="decisions",
    help="Model calls as things to ask `why` about, with scores and the claims made so far.",
    columns=(
        *_DECIDED,
        Column("scores", "MAP(VARCHAR, DOUBLE)", "own.scores", "Numeric scores of the call; `scores['name']` is one."),
        Column("run_scores", "MAP(VARCHAR, DOUBLE)", "of_run.scores", "Numeric scores of the run, by name."),
        Column("claims", "BIGINT", "claims", "Claims about this decision in the store."),
    ),
    source=f"""FROM unscored_decisions AS call
LEFT JOIN (
    SELECT trace_id, span_id, map(list(name), list(value)) AS scores
    FROM (SELECT trace_id, span_id, name, max_by(value, started) AS value FROM scores
      WHERE value IS NOT NULL AND span_id IS NOT NULL GROUP BY ALL) GROUP BY ALL) AS own
  ON own.trace_id = call.trace_id AND own.span_id = call.span_id
LEFT JOIN (
    SELECT trace_id, map(list(name), list(value)) AS scores
    FROM (SELECT trace_id, name, max_by(value, started) AS value FROM scores
      WHERE value IS NOT NULL AND NOT EXISTS (SELECT 1 FROM spans AS judged WHERE judged.trace_id = scores.trace_id
        AND judged.span_id = scores.span_id AND judged.{_MODEL})
      GROUP BY ALL) GROUP BY ALL) AS of_run
  ON of_run.trace_id = call.trace_id""",
)

_JOB = (
    _attribute("job", "VARCHAR", c.JOB_NAME, "Name of the job."),
    _attribute("job_run_id", "VARCHAR", c.JOB_RUN_ID, "The run, as `whyspan jobs history` shows it."),
    _attribute("status", "VARCHAR", c.JOB_STATUS, "How it ended."),
)

JOB_RUNS = View(
    name="job_runs",
    help="One row a run of a job that has ended; a run that was continued has a row each time.",
    columns=(
        *_IDS,
        *_JOB,
        _STARTED,
        _LATENCY,
        _attribute("selected", "BIGINT", c.JOB_SELECTED, "Decisions of the run."),
        _attribute("explained", "BIGINT", c.JOB_EXPLAINED, "Decisions worked on."),
        _attribute("linked", "BIGINT", c.JOB_LINKED, "Decisions like one that was explained."),
        _attribute("skipped", "BIGINT", c.JOB_SKIPPED, "Decisions that cannot be replayed."),
        _attribute("failed", "BIGINT", c.JOB_FAILED, "Decisions that an upstream failed for."),
        _attribute("calls", "BIGINT", c.JOB_CALLS, "Replays paid for."),
        _attribute("tokens", "BIGINT", c.JOB_TOKENS, "Tokens of those."),
        _attribute("cost_usd", "DOUBLE", c.JOB_COST_USD, "Money for those."),
        _attribute("note", "VARCHAR", c.JOB_NOTE, "What happened."),
    ),
    source=f"FROM spans WHERE {_OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_JOB_RUN}'",
)

JOB_ITEMS = View(
    name="job_items",
    help="One row a decision that a run of a job has dealt with.",
    columns=(
        *_IDS,
        *_JOB,
        _STARTED,
        _LATENCY,
        _attribute("decision_trace_id", "VARCHAR", c.DECISION_TRACE_ID, "Trace of the decision."),
        _attribute("decision_span_id", "VARCHAR", c.DECISION_SPAN_ID, "Span of the decision."),
        _attribute("case_id", "VARCHAR", c.CASE_ID, "Digest of the frozen request and target."),
        _attribute("linked_trace_id", "VARCHAR", c.LINKED_TRACE_ID, "Of a linked one: the decision it is like."),
        _attribute("linked_span_id", "VARCHAR", c.LINKED_SPAN_ID, "Its span."),
        _attribute("rate", "DOUBLE", c.JOB_RATE, "How often the model decides so, where that was measured."),
        _attribute("n", "BIGINT", c.JOB_N, "Replays of that measurement."),
        _attribute("effect", "DOUBLE", c.CLAIM_EFFECT, "Effect of the cause that was found."),
        _attribute("fix", "VARCHAR", c.JOB_FIX, "Name of the best fix that was found."),
        _attribute("note", "VARCHAR", c.JOB_NOTE, "What happened."),
    ),
    source=f"FROM spans WHERE {_OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_JOB_ITEM}'",
)

JOBS = View(
    name="jobs",
    help="One row a job that has run.",
    columns=(
        Column("job", "VARCHAR", "job", "Name of the job."),
        Column("runs", "BIGINT", "count(*)", "Runs; a continued one counts once."),
        Column("last_started", "TIMESTAMP", "max(started)", "Start of the latest run, UTC."),
        Column("last_status", "VARCHAR", "arg_max(status, started)", "How it ended."),
        Column("explained", "BIGINT", "sum(explained)", "Decisions worked on."),
        Column("linked", "BIGINT", "sum(linked)", "Decisions like one that was explained."),
        Column("calls", "BIGINT", "sum(calls)", "Replays paid for."),
        Column("cost_usd", "DOUBLE", "sum(cost_usd)", "Money for those."),
    ),
    source="""FROM (SELECT DISTINCT ON (job_run_id) * FROM job_runs ORDER BY job_run_id, started + to_microseconds(
    (latency_ms * 1000)::BIGINT) DESC) GROUP BY job""",
)

KNOWLEDGE = View(
    name="knowledge",
    help="One row a measurement of a lesson.",
    columns=(
        *_IDS,
        _STARTED,
        _attribute("scenario", "VARCHAR", c.SCENARIO, "Scenario."),
        _attribute("lesson_id", "VARCHAR", c.LESSON_ID, "Digest of the lesson."),
        _attribute("lesson", "VARCHAR", c.CLAIM_SUBJECT, "The lesson."),
        _attribute("decision", "VARCHAR", c.LESSON_DECISION, "admitted, refuted or inconclusive."),
        _attribute("effect", "DOUBLE", c.CLAIM_EFFECT, "Mean score with it minus that without."),
        _attribute("interval_low", "DOUBLE", c.CLAIM_INTERVAL_LOW, "95 % interval of the effect."),
        _attribute("interval_high", "DOUBLE", c.CLAIM_INTERVAL_HIGH, "95 % interval of the effect."),
        _attribute("e_value", "DOUBLE", c.CLAIM_E_VALUE, "Evidence; admitted needs at least 1 / alpha."),
        _attribute("alpha", "DOUBLE", c.CLAIM_ALPHA, "The level of this lesson."),
        _attribute("number", "INTEGER", c.LESSON_NUMBER, "Lessons tested up to it."),
        _attribute("pairs", "INTEGER", c.CLAIM_N, "Cases asked with and without it."),
        _attribute("heldout", "INTEGER", c.LESSON_HELDOUT, "Held-out cases among those asked last."),
        _attribute("strategy", "VARCHAR", c.STRATEGY, "conservative, aggressive or none."),
        _attribute("epoch", "VARCHAR", c.EPOCH, "What scores and what is scored."),
        _attribute("claim_id", "VARCHAR", c.CLAIM_ID, "The claim."),
    ),
    source=f"""FROM spans WHERE {_OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_CLAIM}'
  AND attr(attributes, '{c.CLAIM_KIND}') = 'lesson'""",
)

SCENARIOS = View(
    name="scenarios",
    help="One row a scenario that was played.",
    columns=(
        Column("scenario", "VARCHAR", "played.scenario", "Name of the scenario."),
        Column("runs", "BIGINT", "played.runs", "Runs of it in the store."),
        Column("last_started", "TIMESTAMP", "played.last_started", "Start of the latest, UTC."),
        Column("mean_score", "DOUBLE", "played.mean_score", "Mean score of all of them."),
        Column("lessons_tested", "BIGINT", "coalesce(learned.tested, 0)", "Lessons that were measured."),
        Column("lessons_admitted", "BIGINT", "coalesce(learned.admitted, 0)", "Lessons that passed the gate."),
    ),
    source="""FROM (
    SELECT scenario, count(*) AS runs, max(started) AS last_started, avg(score) AS mean_score
    FROM runs WHERE scenario IS NOT NULL GROUP BY scenario) AS played
LEFT JOIN (
    SELECT scenario, count(DISTINCT lesson_id) AS tested,
      count(DISTINCT lesson_id) FILTER (decision = 'admitted') AS admitted
    FROM knowledge GROUP BY scenario) AS learned ON learned.scenario = played.scenario""",
)

MISSIONS = View(
    name="missions",
    help="One row a mission, as it stood when it last stopped.",
    columns=(
        Column("trace_id", "VARCHAR", "trace_id", "Trace of the mission: its checkpoint."),
        _attribute("mission", "VARCHAR", c.MISSION, "Name of the mission."),
        _attribute("status", "VARCHAR", c.MISSION_STATUS, "done, paused or budget."),
        _attribute("steps", "INTEGER", c.MISSION_STEPS, "Steps."),
        _attribute("passed", "INTEGER", c.MISSION_PASSED, "Steps whose verifier has passed."),
        _attribute("note", "VARCHAR", c.MISSION_NOTE, "Why it stopped."),
        _STARTED,
        Column("ended", "TIMESTAMP", "ended", "When it stopped, UTC."),
    ),
    source=f"""FROM (SELECT DISTINCT ON (trace_id) * FROM spans
    WHERE {_OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_MISSION}' ORDER BY trace_id, end_ns DESC)""",
)

VIEWS = (
    SPANS,
    LOG_RECORDS,
    MESSAGES,
    LLM_CALLS,
    TOOL_CALLS,
    RUNS,
    TRIALS,
    CLAIMS,
    SCORES,
    UNSCORED_DECISIONS,
    DECISIONS,
    JOB_RUNS,
    JOB_ITEMS,
    JOBS,
    KNOWLEDGE,
    SCENARIOS,
    MISSIONS,
)
"""In the order of creation: later ones use earlier ones."""
FILE_VIEWS = {"spans": "span_files", "log_records": "log_record_files", "messages": "message_files"}
"""Table → the inner view over its Parquet files."""
