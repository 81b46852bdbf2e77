"""Langfuse scores, of any API version, as scores."""

from collections.abc import Mapping
from typing import Any

from ..evaluations import Score
from ..times import parse_time
from .ids import span_id_of, trace_id_of

_SHOWN = {"environment": "langfuse.environment", "configId": "langfuse.score.config_id"}


def decode_score(raw: Mapping[str, Any]) -> Score:
    """Returns a score; raises KeyError or FormatError when it has no id, name or time."""
    trace, observation, session = _subject(raw)
    number, label = _value(raw)
    more = {key: str(raw[field]) for field, key in _SHOWN.items() if raw.get(field)}
    return Score(
        origin="langfuse",
        id=str(raw["id"]),
        name=str(raw["name"]),
        value=number,
        label=label,
        comment=raw.get("comment"),
        data_type=str(raw.get("dataType") or ""),
        judge=str(raw.get("source") or ""),
        author=str(raw.get("authorUserId") or ""),
        trace_id=trace_id_of(trace) if trace else None,
        span_id=span_id_of(trace, observation) if trace and observation else None,
        session_id=session,
        time_ns=parse_time(raw["timestamp"]),
        updated_ns=parse_time(raw.get("updatedAt") or raw["timestamp"]),
        more=more,
    )


def _subject(raw: Mapping[str, Any]) -> tuple[str, str, str]:
    """Returns (trace, observation, session), empty where the score is not about one."""
    subject = raw.get("subject")
    if not isinstance(subject, Mapping):
        return tuple(str(raw.get(key) or "") for key in ("traceId", "observationId", "sessionId"))  # type: ignore[return-value]
    id = str(subject.get("id") or "")
    match subject.get("kind"):
        case "trace":
            return id, "", ""
        case "observation":
            return str(subject.get("traceId") or ""), id, ""
        case "session":
            return "", "", id
        case _:
            return "", "", ""


def _value(raw: Mapping[str, Any]) -> tuple[float | None, str | None]:
    """Returns (number, label): a boolean has both, a category its label, and its number where it has one."""
    value, text = raw.get("value"), raw.get("stringValue")
    if isinstance(value, str):
        return None, value
    number = None if value is None else float(value)
    if isinstance(value, bool):
        return number, "True" if value else "False"
    if raw.get("dataType") in ("CATEGORICAL", "TEXT", "CORRECTION"):
        return None, text
    return number, text
