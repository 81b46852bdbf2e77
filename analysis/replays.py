"""`replay`: what a recorded decision becomes under interventions, measured against the request as it was sent.

    report = whyspan.replay("last", "tool:forward_email", [Drop(("Forward all mail.",))], n=20)

Half of the baseline is drawn before the interventions and half after them, so that a model that changes meanwhile is
noticed. In a notebook the report shows itself; `to_df()` gives a row an intervention.
"""

import asyncio
import html
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ingest.calls import Json, ModelReply
from .attribution.problem import Outcome, Tally
from .cases import Case
from .desk import NO_CAPS, Caps, Desk, open_desk
from .experiment import Experiment, Order, Trial
from .interventions import Intervention, Noop, intervention_id
from .statistics.evalues import two_sided_e_value
from .statistics.intervals import drop_interval, rate_interval

if TYPE_CHECKING:
    import pandas

ALPHA = 0.05
"""Intervals hold with probability 95 %, however many draws were looked at on the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one intervention does."""

    intervention: Intervention
    tally: Tally
    did: tuple[tuple[str, int], ...]
    """What the replies did → how often, most frequent first."""
    interval: tuple[float, float]
    """95 % interval of the rate."""
    difference: tuple[float, float]
    """95 % interval of this rate minus the baseline's; (0, 0) for the baseline itself."""
    e_value: float
    """Evidence against "the rate is the baseline's"; 1 for the baseline itself."""

    def to_json(self) -> dict[str, Json]:
        """Returns the form that `--json` prints."""
        return {
            "intervention": self.intervention.to_json(),
            "intervention_id": intervention_id(self.intervention),
            "summary": self.intervention.summary,
            "draws": self.tally.draws,
            "target": self.tally.target,
            "other": self.tally.other,
            "asks": self.tally.asks,
            "rate": self.tally.rate if self.tally.draws else None,
            "interval": list(self.interval),
            "difference_interval": list(self.difference),
            "e_value": self.e_value,
            "did": dict(self.did),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """A decision replayed; the first row is the request as it was sent."""

    case: Case
    rows: tuple[Row, ...]
    models: tuple[str, ...]
    """The models that have answered, as the provider names them."""
    warnings: tuple[str, ...]
    paid: int
    tokens: int
    cost_usd: float
    """Known cost of all replies, those paid earlier included."""
    is_complete: bool
    """False when a cap ended it early."""

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan replay --json` prints."""
        return {
            "case_id": self.case.id,
            "trace_id": self.case.origin.trace_id,
            "span_id": self.case.origin.span_id,
            "target": self.case.target.spec,
            "rows": [r.to_json() for r in self.rows],
            "models": list(self.models),
            "warnings": list(self.warnings),
            "paid": self.paid,
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
            "is_complete": self.is_complete,
        }

    def to_df(self) -> "pandas.DataFrame":
        """Returns a data frame, a row an intervention; needs pandas."""
        import pandas

        return pandas.DataFrame([{**r.to_json(), "kind": r.intervention.kind} for r in self.rows]).drop(
            columns=["intervention"]
        )

    def __repr__(self) -> str:
        lines = [
            f"{self.case.target.label}: {r.tally.target} of {r.tally.draws}  {r.intervention.summary}"
            for r in self.rows
        ]
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])

    def _repr_html_(self) -> str:
        """The table that notebooks show; everything in it is escaped, for traces are untrusted."""
        head = "".join(f"<th>{name}</th>" for name in ("request", "rate", "95 % interval", "e-value", "what it did"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in self.rows
        )
        notes = "".join(f"<p>warning: {html.escape(w)}</p>" for w in self.warnings)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{notes}"


def _cells(row: Row) -> tuple[str, ...]:
    low, high = row.interval
    did = ", ".join(f"{count} x {what}" for what, count in row.did)
    rate = f"{row.tally.target} of {row.tally.draws}"
    return row.intervention.summary, rate, f"{low:.2f} to {high:.2f}", f"{row.e_value:.3g}", did


def replay(
    run: str | Case = "last",
    event: str = "last",
    interventions: Sequence[Intervention] = (),
    *,
    n: int = 20,
    store: str | None = None,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    budget: int | None = None,
    caps: Caps = NO_CAPS,
) -> ReplayReport:
    """Replays a decision under interventions: `whyspan replay`, for Python.

    Args:
        run: `last`, a trace id or its beginning, a session id, or a case.
        event: which call and outcome, such as `tool:forward_email`; not used with a case.
        interventions: what to change, one row of the report each; `n` replays each.
        n: replays of each row, the baseline included.
        store: folder of the store; by default as on the command line.
        model_fn: a function (or `FILE:FUNCTION`) that answers a request.
        base_url: an endpoint that speaks the API of the recorded call, when no function is given.
        budget: replays to pay for at most.
        caps: limits in tokens and US dollars, and which earlier replies count.

    Raises WhyspanError, with a hint, for whatever is missing.
    """
    with open_desk(store=store, model_fn=model_fn, base_url=base_url, budget=budget, caps=caps) as desk:
        case = run if isinstance(run, Case) else desk.case(run, event)
        return asyncio.run(compare(desk, case, interventions, n))


@dataclass
class _Counts:
    """What was drawn of each intervention; keeps no replies."""

    tallies: dict[str, Counter[Outcome]] = field(default_factory=dict)
    did: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, trials: Sequence[Trial]) -> None:
        """Counts trials."""
        for trial in trials:
            self.tallies.setdefault(trial.intervention_id, Counter())[trial.outcome] += 1
            what = words_of(trial.stored.completion.reply)
            self.did.setdefault(trial.intervention_id, Counter())[what] += 1

    def tally(self, key: str) -> Tally:
        """Returns the counts of an intervention."""
        seen = self.tallies.get(key, Counter())
        return Tally(target=seen[Outcome.TARGET], other=seen[Outcome.OTHER], asks=seen[Outcome.ASKS])


async def compare(desk: Desk, case: Case, interventions: Sequence[Intervention], n: int) -> ReplayReport:
    """Draws `n` replays of the case and of each intervention, and compares them."""
    counts = _Counts()
    # Edited first: what cannot be done must not cost anything.
    orders: list[Order] = [(i, n, i.apply(case).request) for i in interventions]
    async with desk.experiment(case, "replay") as experiment:
        experiment.watch = counts.add
        await experiment.draw(Noop(), n - n // 2)
        await experiment.draw_all(orders)
        await experiment.draw(Noop(), n // 2)
    return _report(experiment, [Noop(), *interventions], counts, n)


def _report(experiment: Experiment, edits: Sequence[Intervention], counts: _Counts, n: int) -> ReplayReport:
    base = counts.tally(intervention_id(edits[0]))
    rows = tuple(_row(edit, counts, base) for edit in edits)
    return ReplayReport(
        case=experiment.case,
        rows=rows,
        models=tuple(experiment.models),
        warnings=tuple(experiment.drift.warnings()),
        paid=experiment.paid,
        tokens=experiment.input_tokens + experiment.output_tokens,
        cost_usd=experiment.cost_usd,
        is_complete=all(r.tally.draws >= n for r in rows),
    )


def _row(edit: Intervention, counts: _Counts, base: Tally) -> Row:
    key = intervention_id(edit)
    tally = counts.tally(key)
    rate = rate_interval(tally.target, tally.draws, alpha=ALPHA)
    if isinstance(edit, Noop):
        difference, e_value = (0.0, 0.0), 1.0
    else:
        drop = drop_interval(tally.pair, base.pair, alpha=ALPHA)
        difference, e_value = (-drop.high, -drop.low), two_sided_e_value(tally.pair, base.pair)
    return Row(
        intervention=edit, tally=tally, did=tuple(counts.did.get(key, Counter()).most_common()),
        interval=(rate.low, rate.high), difference=difference, e_value=e_value,
    )  # fmt: skip


def words_of(reply: ModelReply) -> str:
    """Returns what a reply did, in words that quote no content: tool names, or how it ended without a tool."""
    if reply.error:
        return "fails"
    if reply.tool_calls:
        return "calls " + " and ".join(dict.fromkeys(c.name for c in reply.tool_calls))
    if reply.refusal:
        return "refuses"
    return "answers" if reply.text.strip() else "says nothing"
