"""The signals: queries for decisions that deserve a look, each with the words that say why.

A query gives `trace_id`, `span_id`, `tool` (NULL when it is about the whole reply), `weight` and `why`. It reads the
tables of TABLES, which stand for all decisions that are looked at, nominated or not: what is rare shows only against
everything else.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...ingest.store.promotion import MODEL_OPERATIONS
from .wording import COMPLAINT, ORDER, UNDOING

MIN_CALLS = 50
"""Calls of a tool, or decisions of a service, before anything about them counts as rare."""
RARE_SHARE = 0.02
OUTLIER = 8
"""Distance from the median in interquartile ranges at which a number stands out."""
RESULT_KEYS = ("gen_ai.tool.call.result", "output.value", "traceloop.entity.output", "ai.toolCall.result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One reason to look."""

    name: str
    help: str
    query: str


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literals(texts: Iterable[str]) -> str:
    return ", ".join(map(_literal, texts))


def _quote(pattern: str) -> str:
    """SQL for what a pattern finds in `body`, with some of the text around it."""
    around = '[^"\\n]{0,60}'
    return f"regexp_extract(body, {_literal(f'(?i){around}(?:{pattern}){around}')})"


def _found(pattern: str) -> str:
    return f"regexp_matches(body, {_literal(f'(?i){pattern}')})"


_FROM_TOOL = (
    'tool_call_response|tool_result|toolResult|functionResponse|function_call_output|"role": ?"(tool|function)"'
)
_FROM_USER = r'"user\\?"[^}]*?'
_USER_COMPLAINT = f"{_FROM_USER}(?:{COMPLAINT})"
_FROM_ELSEWHERE = '"role"|"type": ?"function"|"parameters"'

ACTS = """SELECT *, lead(started) OVER (PARTITION BY trace_id ORDER BY started, span_id) AS next_started
FROM {view} WHERE started >= $since"""
"""The query for the table `acts`, decisions since a time; `view` is one that has what the user's condition needs."""

TABLES = {
    "calls": "SELECT trace_id, span_id, started, next_started, service, call.name AS tool, call.arguments AS arguments "
    "FROM (SELECT *, unnest(tool_calls) AS call FROM acts)",
    "arguments": """SELECT *, arguments ->> ('$."' || key || '"') AS value FROM (
  SELECT trace_id, span_id, service, tool, arguments, unnest(json_keys(arguments)) AS key FROM calls
  WHERE json_valid(arguments) AND json_type(arguments) = 'OBJECT')""",
    "taken_back": "SELECT * FROM (VALUES {}) AS pair(did, undid)".format(
        ", ".join(f"({_literal(did)}, {_literal(undid)})" for did, undid in UNDOING)
    ),
    # A long text is kept once a trace, with the start of the span that brought it first; a short one is in every row.
    "long": f"""SELECT trace_id, time, body FROM messages
WHERE time >= $since AND ({_found(_USER_COMPLAINT)} OR {_found(ORDER)})""",
    "short": f"""SELECT trace_id, started AS time, is_tool, body FROM (
  SELECT trace_id, started, operation = 'execute_tool' AS is_tool, pair.key AS key, pair.kind AS kind,
    pair.value AS body
  FROM (SELECT trace_id, started, operation, unnest(attributes) AS pair FROM spans WHERE started >= $since
    AND (operation = 'execute_tool' OR has_content AND operation IN ({_literals(MODEL_OPERATIONS)}))))
WHERE CASE WHEN is_tool THEN kind = 'string' AND key IN ({_literals(RESULT_KEYS)}) AND {_found(ORDER)}
  ELSE regexp_matches(key, 'input|prompt|request') AND {_found(_USER_COMPLAINT)} END""",
    "heard": f"""SELECT trace_id, min(time) AS time, {_quote(COMPLAINT)} AS said FROM (
  FROM long WHERE {_found(_USER_COMPLAINT)}
  UNION ALL
  SELECT trace_id, time, body FROM short WHERE NOT is_tool)
GROUP BY ALL""",
    "outside": f"""FROM long WHERE ({_found(_FROM_TOOL)} OR NOT {_found(_FROM_ELSEWHERE)}) AND {_found(ORDER)}
UNION ALL
SELECT trace_id, time, body FROM short WHERE is_tool""",
}
"""Table → the query that fills it, in the order of creation after `acts`; `$since` is where `acts` begins."""

FAILED = Signal(
    name="error",
    help="The call failed, or a tool that it called did.",
    query="""SELECT trace_id, span_id, NULL AS tool, 2.0 AS weight, 'the model call failed: ' || error AS why
FROM acts WHERE error IS NOT NULL
UNION ALL
SELECT c.trace_id, c.span_id, c.tool, 2.0, c.tool || ' then failed: ' || min(t.error)
FROM calls AS c JOIN tool_calls AS t ON t.trace_id = c.trace_id AND t.tool_name = c.tool AND t.started >= c.started
  AND (c.next_started IS NULL OR t.started < c.next_started)
WHERE t.error IS NOT NULL GROUP BY c.trace_id, c.span_id, c.tool""",
)

UNDONE = Signal(
    name="undone",
    help="A later call of the run takes it back.",
    query="""SELECT DISTINCT c.trace_id, c.span_id, c.tool, 3.0 AS weight, 'taken back later by ' || u.tool AS why
FROM calls AS c JOIN taken_back AS p ON split_part(c.tool, '_', 1) = p.did
JOIN calls AS u ON u.trace_id = c.trace_id AND u.started > c.started AND split_part(u.tool, '_', 1) = p.undid
  AND substr(u.tool, length(p.undid) + 1) = substr(c.tool, length(p.did) + 1)""",
)

COMPLAINED = Signal(
    name="complaint",
    help="The user's next words are a complaint.",
    query="""SELECT DISTINCT a.trace_id, a.span_id, NULL AS tool, 4.0 AS weight,
  'the user then says: ' || h.said AS why
FROM heard AS h ASOF JOIN acts AS a ON a.trace_id = h.trace_id AND h.time > a.started""",
)

ORDERED = Signal(
    name="injection",
    help="Text that a tool brought in reads like an order, and the model acted when it had read it.",
    query=f"""SELECT a.trace_id, a.span_id, 3.0 AS weight,
  CASE WHEN len(a.tool_names) = 1 THEN a.tool_names[1] END AS tool, 'had just read: ' || min(o.said) AS why
FROM (SELECT trace_id, time, {_quote(ORDER)} AS said FROM outside) AS o
ASOF JOIN acts AS a ON a.trace_id = o.trace_id AND o.time <= a.started
WHERE len(a.tool_names) > 0 GROUP BY a.trace_id, a.span_id, a.tool_names""",
)

RARE_TOOL = Signal(
    name="rare-tool",
    help="The agent hardly ever calls this tool.",
    query=f"""SELECT DISTINCT c.trace_id, c.span_id, c.tool, least(-log2(n / total) / 3, 3.0) AS weight,
  c.tool || ' is called in ' || n || ' of ' || total || ' decisions of ' || coalesce(c.service, 'this agent') AS why
FROM calls AS c
JOIN (SELECT service, tool, count(DISTINCT (trace_id, span_id)) AS n FROM calls GROUP BY ALL) AS used
  ON used.service IS NOT DISTINCT FROM c.service AND used.tool = c.tool
JOIN (SELECT service, count(*) AS total FROM acts GROUP BY ALL) AS made ON made.service IS NOT DISTINCT FROM c.service
WHERE total >= {MIN_CALLS} AND n <= {RARE_SHARE} * total""",
)

RARE_NUMBER = Signal(
    name="rare-number",
    help="A number in the arguments is far from what the agent usually passes there.",
    query=f"""SELECT a.trace_id, a.span_id, a.tool, 2.0 AS weight,
  a.tool || ' with ' || a.key || ' = ' || a.value || ', usually about ' || usual.middle AS why
FROM arguments AS a
JOIN (SELECT service, tool, key, median(try_cast(value AS DOUBLE)) AS middle, count(try_cast(value AS DOUBLE)) AS n,
    quantile_cont(try_cast(value AS DOUBLE), 0.75) - quantile_cont(try_cast(value AS DOUBLE), 0.25) AS spread
  FROM arguments GROUP BY ALL) AS usual
  ON usual.service IS NOT DISTINCT FROM a.service AND usual.tool = a.tool AND usual.key = a.key
WHERE n >= {MIN_CALLS} AND spread > 0 AND abs(try_cast(a.value AS DOUBLE) - middle) > {OUTLIER} * spread""",
)

# Free text and ids differ always; a value is rare only where the agent usually picks from a few.
RARE_VALUE = Signal(
    name="rare-value",
    help="An argument that usually has one of a few values has another one.",
    query=f"""SELECT a.trace_id, a.span_id, a.tool, 2.0 AS weight,
  a.tool || ' with ' || a.key || ' = ' || a.kind || ', seen ' || same.n || ' times in ' || usual.n AS why
FROM (SELECT *, coalesce(nullif(regexp_extract(value, '@[\\w.-]+$'), ''), value) AS kind FROM arguments) AS a
JOIN (SELECT service, tool, key, coalesce(nullif(regexp_extract(value, '@[\\w.-]+$'), ''), value) AS kind,
    count(*) AS n FROM arguments GROUP BY ALL) AS same
  ON same.service IS NOT DISTINCT FROM a.service AND same.tool = a.tool AND same.key = a.key AND same.kind = a.kind
JOIN (SELECT service, tool, key, count(*) AS n,
    count(DISTINCT coalesce(nullif(regexp_extract(value, '@[\\w.-]+$'), ''), value)) AS kinds
  FROM arguments GROUP BY ALL) AS usual
  ON usual.service IS NOT DISTINCT FROM a.service AND usual.tool = a.tool AND usual.key = a.key
WHERE usual.n >= {MIN_CALLS} AND usual.kinds <= usual.n / 10 AND same.n <= {RARE_SHARE} * usual.n
  AND try_cast(a.value AS DOUBLE) IS NULL""",
)

SIGNALS = (FAILED, UNDONE, COMPLAINED, ORDERED, RARE_TOOL, RARE_NUMBER, RARE_VALUE)
