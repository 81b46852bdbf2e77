"""Which of two model calls counts when one is inside the other: the instrumentation of a framework and that of the SDK
below it both tell of the same call.

Of a call and a call directly inside it, the inner one counts if it carries the content, else the outer one. Spans come
late and in any order, so only what lies in one file can be settled for good: compaction writes it down there. Calls
that compaction has not seen, or has seen without their parent, are looked at when somebody asks.
"""

import duckdb

from .conditions import CALL

NESTED, APART = "nested", "parent_apart"
"""Columns that compaction fills in: another call of the file counts instead of this one; this is a call, and the file
lacks its parent. NULL where it has not been."""
NESTED_APART = "nested_apart"
"""The macro that tells what the columns cannot: a call of another file counts instead of this one."""

_HIDDEN = "CASE WHEN has_content THEN parent_span_id ELSE inside.span_id END"
_AROUND = "around.trace_id = inside.trace_id AND around.span_id = parent_span_id"


def with_nesting(source: str) -> str:
    """Returns a query for the rows of a source of spans (a table function), with the two columns filled in."""
    return f"""
SELECT span.* REPLACE (
  coalesce(is_hidden, false) AS {NESTED},
  coalesce({CALL}, false) AND parent_span_id IS NOT NULL AND NOT coalesce(has_parent, false) AS {APART})
FROM {source} AS span LEFT JOIN (
  WITH pairs AS (
    SELECT inside.trace_id, inside.span_id, {_HIDDEN} AS hidden, is_call
    FROM (SELECT trace_id, span_id, parent_span_id, has_content FROM {source} WHERE {CALL}) AS inside
    JOIN (SELECT trace_id, span_id, coalesce({CALL}, false) AS is_call FROM {source}) AS around ON {_AROUND})
  SELECT trace_id, span_id, bool_or(hides) AS is_hidden, NOT bool_and(hides) AS has_parent FROM (
    SELECT trace_id, span_id, false AS hides FROM pairs
    UNION ALL
    SELECT trace_id, hidden, true FROM pairs WHERE is_call)
  GROUP BY ALL) AS told USING (trace_id, span_id)"""


def look_apart(db: duckdb.DuckDBPyConnection, spans: str) -> None:
    """Defines NESTED_APART(trace_id, span_id) over all files, given as one view.

    It costs what is not settled; where everything is, the macro is a constant and so costs the queries nothing.
    """
    db.execute(f"""
CREATE TEMP TABLE calls_apart AS SELECT trace_id, span_id, parent_span_id, has_content FROM {spans}
WHERE {CALL} AND parent_span_id IS NOT NULL AND coalesce({APART}, true)""")
    # Columns of other names than those of spans: what a macro is given is looked up in its subquery first.
    db.execute(f"""
CREATE TEMP TABLE hidden_apart AS
SELECT DISTINCT inside.trace_id AS hidden_trace_id, {_HIDDEN} AS hidden_span_id FROM calls_apart AS inside
SEMI JOIN (SELECT trace_id, span_id FROM {spans} WHERE {CALL}) AS around ON {_AROUND}""")
    db.execute("DROP TABLE calls_apart")
    is_any = db.execute("SELECT count(*) > 0 FROM hidden_apart").fetchall()[0][0]
    known = "EXISTS (SELECT 1 FROM hidden_apart WHERE hidden_trace_id = trace AND hidden_span_id = span)"
    db.execute(f"CREATE MACRO {NESTED_APART}(trace, span) AS ({known if is_any else 'false'})")
