"""How often an outcome comes, over time, models and versions; where that changed; whether what was claimed still holds.

What was recorded, not what a replay would do: the unit is a decision. `jobs` with the step `odds` measures by replay.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scipy.special import chdtrc, xlogy

from ..ingest.store import Store
from ..ingest.store.querying import open_sandbox
from .policy import Policy
from .selection import decisions_view
from .statistics.intervals import rate_interval
from .targets import Target

ALPHA = 0.05
CHANGE_ALPHA = 0.01
"""Chance, for each stretch that is looked at, of a change point where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One period, model and version."""

    start: datetime
    model: str
    version: str
    """`service.version` of the sender; empty when it does not say."""
    hits: int
    decisions: int

    @property
    def rate(self) -> float:
        """Share of the decisions that had the outcome."""
        return self.hits / self.decisions

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        interval = rate_interval(self.hits, self.decisions, alpha=ALPHA)
        return interval.low, interval.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A place in time where the rate is another before and after."""

    start: datetime
    """First period after it."""
    before: float
    after: float
    p_value: float
    """Of a likelihood-ratio test, corrected for the places looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A claim about this outcome, as it was measured last."""

    claim_id: str
    kind: str
    subject: str
    verdict: str
    measured: datetime
    times: int
    model: str
    is_current: bool
    """It was measured on a model that the latest period still has."""

    @property
    def state(self) -> str:
        """`holds`, `no longer` or `to be measured again`."""
        if self.verdict != "supported":
            return "no longer" if self.times > 1 else self.verdict
        return "holds" if self.is_current else "to be measured again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """An outcome over time."""

    periods: tuple[Period, ...]
    """In time order, models and versions apart."""
    changes: tuple[Change, ...]
    claims: tuple[Standing, ...]


def find_trend(store: Store, target: Target, *, condition: str = "", period: str = "week") -> Trend:
    """Returns how often the decisions that meet a condition had an outcome.

    `period` is a word of DuckDB's date_trunc: day, week, month. Raises UsageError for a condition that is no SQL.
    """
    rows = _count(store, condition, period)
    policy = Policy(never=(target,))
    hits: dict[tuple[datetime, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for start, model, version, calls, text, number in rows:
        cell = hits[start, model or "", version or ""]
        cell[0] += number if policy.broken_by(calls or (), text or "") else 0
        cell[1] += number
    periods = tuple(
        Period(start=start, model=model, version=version, hits=cell[0], decisions=cell[1])
        for (start, model, version), cell in sorted(hits.items())
    )
    latest = periods[-1].start if periods else None
    current = {p.model for p in periods if p.start == latest}
    return Trend(
        periods=periods, changes=tuple(find_changes(_totals(periods))), claims=_standings(store, target, current)
    )


def _count(
    store: Store, condition: str, period: str
) -> Sequence[tuple[datetime, str, str, list[dict[str, str]], str, int]]:
    view = decisions_view(condition, with_scores=False)
    query = f"""SELECT date_trunc('{period}', d.started) AS start, d.model,
  s.resource ->> '$.attributes."service.version"' AS version, d.tool_calls, d.reply_text, count(*)
FROM (SELECT * FROM {view} WHERE {condition or "true"}) AS d
JOIN spans AS s ON s.trace_id = d.trace_id AND s.span_id = d.span_id
GROUP BY ALL"""
    with open_sandbox(store) as sandbox:
        return sandbox.select(query).rows


def _totals(periods: Sequence[Period]) -> list[tuple[datetime, int, int]]:
    totals: dict[datetime, list[int]] = defaultdict(lambda: [0, 0])
    for p in periods:
        totals[p.start][0] += p.hits
        totals[p.start][1] += p.decisions
    return [(start, hits, n) for start, (hits, n) in sorted(totals.items())]


def find_changes(series: Sequence[tuple[datetime, int, int]]) -> list[Change]:
    """Returns the change points of (start, hits, decisions) in time order, by binary segmentation.

    A stretch is cut where a rate before and another after explain it best, when the likelihood ratio (chi-squared with
    one degree of freedom, Bonferroni over the cuts) says that one rate does not.
    """
    if len(series) < 2:
        return []
    cuts = [(_ratio(series[:i], series[i:]), i) for i in range(1, len(series))]
    ratio, at = max(cuts)
    p_value = min(1.0, float(chdtrc(1, ratio)) * len(cuts))
    if p_value > CHANGE_ALPHA:
        return []
    before, after = (sum(s[1] for s in part) / sum(s[2] for s in part) for part in (series[:at], series[at:]))
    change = Change(start=series[at][0], before=before, after=after, p_value=p_value)
    return [*find_changes(series[:at]), change, *find_changes(series[at:])]


def _ratio(left: Sequence[tuple[datetime, int, int]], right: Sequence[tuple[datetime, int, int]]) -> float:
    return 2 * (_log_likelihood(left) + _log_likelihood(right) - _log_likelihood([*left, *right]))


def _log_likelihood(part: Sequence[tuple[datetime, int, int]]) -> float:
    hits, n = sum(s[1] for s in part), sum(s[2] for s in part)
    return float(xlogy(hits, hits / n) + xlogy(n - hits, 1 - hits / n))


def _standings(store: Store, target: Target, current: set[str]) -> tuple[Standing, ...]:
    query = """SELECT c.claim_id, arg_max(c.kind, c.started), arg_max(coalesce(c.subject, ''), c.started),
  arg_max(c.verdict, c.started), max(c.started), count(*), arg_max(coalesce(s.request_model, ''), c.started)
FROM claims AS c JOIN spans AS s ON s.trace_id = c.trace_id AND s.span_id = c.span_id
WHERE c.target = ? AND c.kind IN ('cause', 'fix') GROUP BY c.claim_id ORDER BY max(c.started) DESC, c.claim_id"""
    with open_sandbox(store) as sandbox:
        found = sandbox.select(query, [target.spec]).rows
    return tuple(
        Standing(
            claim_id=claim_id, kind=kind, subject=subject, verdict=verdict, measured=measured, times=times, model=model,
            is_current=model in current,
        )
        for claim_id, kind, subject, verdict, measured, times, model in found
    )  # fmt: skip
