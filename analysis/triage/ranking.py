"""From signals to a ranked list, each rank with its reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ingest.calls import Json
from ...ingest.spans import SpanId, TraceId
from ...ingest.store import Store
from ...ingest.store.querying import Sandbox, open_sandbox
from ..policy import Policy
from ..selection import decisions_view
from .scoring import score_signal
from .signals import ACTS, SIGNALS, TABLES

POLICY_WEIGHT = 5.0
POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What one signal says about a decision."""

    signal: str
    weight: float
    why: str
    event: str | None = None
    """The outcome it is about; None when it is about the whole reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nomination:
    """A decision worth explaining."""

    trace_id: TraceId
    span_id: SpanId
    row: dict[str, Any]
    """Its row of `decisions`."""
    reasons: tuple[Reason, ...]
    """The weightiest first."""

    @property
    def score(self) -> float:
        """Sum over the signals; of a signal that fires twice only the weightier counts."""
        best: dict[str, float] = {}
        for reason in self.reasons:
            best[reason.signal] = max(reason.weight, best.get(reason.signal, 0.0))
        return sum(best.values())

    @property
    def event(self) -> str:
        """The question to ask: the outcome of the weightiest reason that has one, else what the call did."""
        return next((r.event for r in self.reasons if r.event), f"span:{self.span_id}")

    @property
    def question(self) -> str:
        """EVENT for this decision of its run: by `tool:NAME` one asks about the last call that did so."""
        return f"span:{self.span_id}" if self.row["is_repeated"] else self.event

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `whyspan triage --json` prints."""
        return {
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "event": self.event,
            "score": round(self.score, 2),
            "reasons": [{"signal": r.signal, "weight": round(r.weight, 2), "why": r.why} for r in self.reasons],
            "started": self.row["started"],
            "service": self.row["service"],
            "model": self.row["model"],
            "tool_names": self.row["tool_names"],
            "claims": self.row["claims"],
        }


LATEST = 10_000
"""Decisions that are looked at when nothing else is said: enough to see what is usual, and not years of it."""


def triage(
    store: Store, policy: Policy, *, condition: str = "claims = 0", limit: int = 20, latest: int = LATEST
) -> list[Nomination]:
    """Returns the decisions that meet a condition on `decisions` and have signals, the most telling first.

    Only the latest decisions are looked at; they are also what says which things are usual. Raises UsageError for a
    condition that is no SQL.
    """
    with open_sandbox(store) as sandbox:
        view = decisions_view(condition, with_scores=False)
        _keep_tables(sandbox, {"acts": ACTS.format(view=view), **TABLES}, latest)
        sandbox.keep("candidates", f"SELECT * FROM acts WHERE {condition or 'true'}")
        reasons: dict[tuple[str, str], list[Reason]] = {}
        for key, reason in (*_find_signals(sandbox, policy), *_find_breaches(sandbox, policy)):
            reasons.setdefault(key, []).append(reason)
        ranked = sorted(reasons, key=lambda key: (-_score(reasons[key]), key))[:limit]
        rows = _rows(sandbox, ranked)
    return [_nominate(key, rows[key], reasons[key]) for key in ranked]


def _keep_tables(sandbox: Sandbox, tables: Mapping[str, str], latest: int) -> None:
    query = "SELECT min(started) FROM (SELECT started FROM llm_calls ORDER BY started DESC LIMIT ?)"
    since = sandbox.select(query, [latest]).rows[0][0]
    for name, query in tables.items():
        sandbox.keep(name, query, {"since": since} if "$since" in query else {})


def _find_signals(sandbox: Sandbox, policy: Policy) -> Iterator[tuple[tuple[str, str], Reason]]:
    for signal in (*SIGNALS, score_signal(policy.bad_below)):
        chosen = f"({signal.query}) AS s SEMI JOIN candidates USING (trace_id, span_id)"
        found = sandbox.select(f"SELECT s.trace_id, s.span_id, tool, weight, why FROM {chosen}")
        for trace_id, span_id, tool, weight, why in found.rows:
            event = f"tool:{tool}" if tool else None
            yield (trace_id, span_id), Reason(signal=signal.name, weight=float(weight), why=why, event=event)


def _find_breaches(sandbox: Sandbox, policy: Policy) -> Iterator[tuple[tuple[str, str], Reason]]:
    if not policy.never:
        return
    query = "SELECT trace_id, span_id, tool_calls, coalesce(reply_text, '') FROM candidates"
    for trace_id, span_id, calls, text in sandbox.select(query).rows:
        for rule in policy.broken_by(calls or (), text):
            why = f"the policy says never {rule.spec}"
            yield (trace_id, span_id), Reason(signal=POLICY, weight=POLICY_WEIGHT, why=why, event=rule.spec)


def _score(reasons: Sequence[Reason]) -> float:
    return sum({r.signal: r.weight for r in sorted(reasons, key=lambda r: r.weight)}.values())


def _rows(sandbox: Sandbox, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
    spans = [span_id for _, span_id in keys]
    query = """SELECT c.* EXCLUDE (next_started), EXISTS (
    FROM acts AS later WHERE later.trace_id = c.trace_id AND later.started > c.started
    AND list_has_any(later.tool_names, c.tool_names)) AS is_repeated
FROM candidates AS c WHERE list_contains(?, span_id)"""
    result = sandbox.select(query, [spans])
    return {(row["trace_id"], row["span_id"]): row for row in result.records()}


def _nominate(key: tuple[str, str], row: dict[str, Any], reasons: Sequence[Reason]) -> Nomination:
    ordered = tuple(sorted(dict.fromkeys(reasons), key=lambda r: -r.weight))
    return Nomination(trace_id=TraceId(key[0]), span_id=SpanId(key[1]), row=row, reasons=ordered)
