"""Views over decisions: what one can ask about, with the scores and claims there are."""

from ... import conventions as c
from ..conditions import FOREIGN, MODEL
from .recorded import _ACTED
from .view import ERROR, SENDER, STARTED, USAGE, Column, View, attribute

_SCORE = (
    Column("name", "VARCHAR", "name", "What was judged."),
    Column("value", "DOUBLE", "try_cast(value AS DOUBLE)", "The score, when it is a number."),
    Column("label", "VARCHAR", "label", "The score in a word."),
    Column("explanation", "VARCHAR", "explanation", "Why."),
    Column("source", "VARCHAR", "source", "`service.name` of who judged; langfuse, phoenix or mlflow when imported."),
)

_IMPORTED_SCORE = (
    attribute("session_id", "VARCHAR", "session.id", "Conversation that was judged, when it is one.", "said"),
    attribute("judge", "VARCHAR", c.SCORE_JUDGE, "Kind of judge, when imported: HUMAN, LLM, CODE, API, …", "said"),
    attribute("author", "VARCHAR", c.SCORE_AUTHOR, "The person or program, when recorded.", "said"),
    attribute("score_id", "VARCHAR", c.SCORE_ID, "Id where it is imported from.", "said"),
)

_EVENT = c.EVALUATION_EVENT


def _logged(condition: str) -> str:
    return f"""SELECT trace_id, span_id, time AS started, service AS source, attributes AS said,
      attr(said, 'gen_ai.evaluation.name') AS name, attr(said, 'gen_ai.evaluation.score.value') AS value,
      attr(said, 'gen_ai.evaluation.score.label') AS label, attr(said, 'gen_ai.evaluation.explanation') AS explanation
    FROM log_records WHERE event_name = '{_EVENT}' AND {FOREIGN} AND {condition}"""


SCORES = View(
    name="scores",
    help="Judgements of others about a run or one of its spans: OTel evaluation results, OpenInference evaluations.",
    columns=(
        Column("trace_id", "VARCHAR", "trace_id", "Trace that was judged."),
        Column("span_id", "VARCHAR", "span_id", "Span that was judged; NULL when it is the run as a whole."),
        STARTED,
        *_SCORE,
        *_IMPORTED_SCORE,
    ),
    source=f"""FROM (
    SELECT trace_id, parent_span_id AS span_id, started, service AS source, unnest(list_filter(events,
      lambda event: event.name = '{_EVENT}')).attributes AS said, attr(said, 'gen_ai.evaluation.name') AS name,
      attr(said, 'gen_ai.evaluation.score.value') AS value, attr(said, 'gen_ai.evaluation.score.label') AS label,
      attr(said, 'gen_ai.evaluation.explanation') AS explanation
    FROM spans WHERE operation = 'evaluate' AND {FOREIGN}
    UNION ALL BY NAME
    {_logged("attr(attributes, '" + c.SCORE_ID + "') IS NULL")}
    UNION ALL BY NAME
    -- A score that was changed is imported again under its id; the one updated last counts.
    {_logged("attr(attributes, '" + c.SCORE_ID + "') IS NOT NULL")}
    QUALIFY row_number() OVER (
      PARTITION BY service, attr(said, '{c.SCORE_ID}') ORDER BY attr(said, '{c.SCORE_UPDATED}') DESC, seq DESC) = 1
    UNION ALL BY NAME
    SELECT trace_id, parent_span_id AS span_id, started, service AS source, attributes AS said,
      attr(said, 'evaluations.0.evaluation.name') AS name, attr(said, 'evaluations.0.evaluation.score') AS value,
      attr(said, 'evaluations.0.evaluation.label') AS label,
      attr(said, 'evaluations.0.evaluation.explanation') AS explanation
    FROM spans WHERE operation = 'evaluate' AND {FOREIGN}
      AND NOT list_contains(list_transform(events, lambda event: event.name), '{_EVENT}'))
WHERE name IS NOT NULL""",
)

_DECIDED = (
    Column("trace_id", "VARCHAR", "call.trace_id", "Trace, 32 hex digits: the run."),
    Column("span_id", "VARCHAR", "call.span_id", "Span, 16 hex digits."),
    Column("started", "TIMESTAMP", "call.started", "Start, UTC."),
    *SENDER,
    Column("user_id", "VARCHAR", "user_id", "User, when recorded."),
    Column("provider", "VARCHAR", "provider", "Provider, as recorded."),
    Column("model", "VARCHAR", "model", "Model asked for, else that answered."),
    *_ACTED,
    Column("finish_reason", "VARCHAR", "finish_reason", "As recorded."),
    ERROR,
    *USAGE,
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
        AND judged.span_id = scores.span_id AND judged.{MODEL})
      GROUP BY ALL) GROUP BY ALL) AS of_run
  ON of_run.trace_id = call.trace_id""",
)
