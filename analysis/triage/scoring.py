"""Bad scores as a signal: below what `[policy] bad_below` says, or in a word that says so."""

from collections.abc import Mapping

from .signals import Signal

BAD_LABELS = ("bad", "error", "fail", "failed", "false", "harmful", "incorrect", "negative", "no", "unsafe", "wrong")


def score_signal(bad_below: Mapping[str, float]) -> Signal:
    """Returns the signal for the limits of a policy.

    A score of a whole run counts less, and for those of its decisions that called something: any of them may be why.
    """
    limits = ", ".join(f"('{name.replace(chr(39), chr(39) * 2)}', {limit})" for name, limit in bad_below.items())
    below = f"OR EXISTS (SELECT 1 FROM (VALUES {limits}) AS l(n, below) WHERE n = s.name AND s.value < below)"
    labels = ", ".join(f"'{label}'" for label in BAD_LABELS)
    return Signal(
        name="score",
        help="Somebody judged it, or its run, as bad.",
        query=f"""SELECT a.trace_id, a.span_id, NULL AS tool,
  CASE WHEN s.span_id = a.span_id THEN 3.0 ELSE 1.5 END AS weight,
  CASE WHEN s.span_id = a.span_id THEN 'scored ' ELSE 'its run is scored ' END || s.name || ' = '
    || coalesce(s.label, s.value::VARCHAR) AS why
FROM (SELECT * FROM scores AS s WHERE lower(s.label) IN ({labels}) {below if limits else ""}) AS s
JOIN acts AS a ON a.trace_id = s.trace_id AND (s.span_id = a.span_id OR (len(a.tool_names) > 0
  AND NOT EXISTS (SELECT 1 FROM acts AS judged WHERE judged.trace_id = s.trace_id AND judged.span_id = s.span_id)))""",
    )
