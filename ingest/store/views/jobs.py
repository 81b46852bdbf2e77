"""Views over jobs: their runs, and the decisions each run explained."""

from ... import conventions as c
from ..conditions import OWN
from .view import IDS, LATENCY, STARTED, Column, View, attribute

_JOB = (
    attribute("job", "VARCHAR", c.JOB_NAME, "Name of the job."),
    attribute("job_run_id", "VARCHAR", c.JOB_RUN_ID, "The run, as `whyspan jobs history` shows it."),
    attribute("status", "VARCHAR", c.JOB_STATUS, "How it ended."),
)

JOB_RUNS = View(
    name="job_runs",
    help="One row a run of a job that has ended; a run that was continued has a row each time.",
    columns=(
        *IDS,
        *_JOB,
        STARTED,
        LATENCY,
        attribute("selected", "BIGINT", c.JOB_SELECTED, "Decisions of the run."),
        attribute("explained", "BIGINT", c.JOB_EXPLAINED, "Decisions worked on."),
        attribute("linked", "BIGINT", c.JOB_LINKED, "Decisions like one that was explained."),
        attribute("skipped", "BIGINT", c.JOB_SKIPPED, "Decisions that cannot be replayed."),
        attribute("failed", "BIGINT", c.JOB_FAILED, "Decisions that an upstream failed for."),
        attribute("calls", "BIGINT", c.JOB_CALLS, "Replays paid for."),
        attribute("tokens", "BIGINT", c.JOB_TOKENS, "Tokens of those."),
        attribute("cost_usd", "DOUBLE", c.JOB_COST_USD, "Money for those."),
        attribute("note", "VARCHAR", c.JOB_NOTE, "What happened."),
    ),
    source=f"FROM spans WHERE {OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_JOB_RUN}'",
)

JOB_ITEMS = View(
    name="job_items",
    help="One row a decision that a run of a job has dealt with.",
    columns=(
        *IDS,
        *_JOB,
        STARTED,
        LATENCY,
        attribute("decision_trace_id", "VARCHAR", c.DECISION_TRACE_ID, "Trace of the decision."),
        attribute("decision_span_id", "VARCHAR", c.DECISION_SPAN_ID, "Span of the decision."),
        attribute("case_id", "VARCHAR", c.CASE_ID, "Digest of the frozen request and target."),
        attribute("linked_trace_id", "VARCHAR", c.LINKED_TRACE_ID, "Of a linked one: the decision it is like."),
        attribute("linked_span_id", "VARCHAR", c.LINKED_SPAN_ID, "Its span."),
        attribute("rate", "DOUBLE", c.JOB_RATE, "How often the model decides so, where that was measured."),
        attribute("n", "BIGINT", c.JOB_N, "Replays of that measurement."),
        attribute("effect", "DOUBLE", c.CLAIM_EFFECT, "Effect of the cause that was found."),
        attribute("fix", "VARCHAR", c.JOB_FIX, "Name of the best fix that was found."),
        attribute("note", "VARCHAR", c.JOB_NOTE, "What happened."),
    ),
    source=f"FROM spans WHERE {OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_JOB_ITEM}'",
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
