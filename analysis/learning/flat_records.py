"""A run as flat JSON lines for `jq`: one a span, oldest first."""

from collections.abc import Iterator
from typing import Any

from ...ingest import conventions as names
from ...ingest.store import Store
from ...ingest.store.querying import run_query

_QUERY = f"""
SELECT span_id, parent_span_id, name, operation, provider, request_model, input_tokens, output_tokens, cost_usd,
  duration_ms, error, status_message, tool_name, reply_text, started,
  attr(attributes, '{names.KIND}') AS own, attr(attributes, '{names.ROLE}') AS role,
  attr(attributes, '{names.STEP}') AS step, attr(attributes, '{names.RUN_SCORE}') AS score,
  attr(attributes, '{names.MISSION_NOTE}') AS note,
  coalesce(attr(attributes, '{names.STEP_OUTPUT}'), attr(attributes, 'output.value'), reply_text) AS output
FROM spans WHERE trace_id = ? ORDER BY start_ns, span_id"""
_TYPES = {
    "chat": "llm_call", "text_completion": "llm_call", "generate_content": "llm_call", "execute_tool": "tool_call",
    "evaluate": "evaluation", "invoke_agent": "agent",
}  # fmt: skip


def flat_records(store: Store, trace_id: str) -> Iterator[dict[str, Any]]:
    """Yields a record a span: `type`, ids, `step`, `role`, model, usage, score, level, message, output."""
    return (_record(row) for row in run_query(store, _QUERY, [trace_id]).records())


def _record(row: dict[str, Any]) -> dict[str, Any]:
    used = (row["input_tokens"], row["output_tokens"])
    record = {
        "type": row["own"] or _TYPES.get(row["operation"] or "", "span"),
        "time": f"{row['started'].isoformat()}Z",
        "span_id": row["span_id"],
        "parent_span_id": row["parent_span_id"],
        "name": row["name"],
        "step": row["step"],
        "role": row["role"],
        "provider": row["provider"],
        "model": row["request_model"],
        "tool": row["tool_name"],
        "usage": {"total_tokens": sum(n or 0 for n in used)} if any(n is not None for n in used) else None,
        "cost_usd": row["cost_usd"],
        "score": float(row["score"]) if row["score"] is not None else None,
        "level": "error" if row["error"] else "info",
        "message": row["error"] or row["note"] or row["status_message"],
        "output": row["output"],
        "duration_ms": row["duration_ms"],
    }
    return {key: value for key, value in record.items() if value not in (None, "")}
