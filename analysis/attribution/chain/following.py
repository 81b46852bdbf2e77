"""Follows the cause of a decision back through its run: each link is an attribution of an earlier decision.

Error rate. Link 0 is tested at alpha / 2 and every further link at half of what is left, alpha / 2^(i + 1), with the
family-wise levels of `ledger`: the chance that a link makes any false claim is at most its share, whatever was seen
before it, because its draws are of another request and are made after its question was fixed. By the union bound the
chance that any claim of the chain is false is at most the sum of the shares, hence at most alpha, however many links
there are and whenever it is stopped. A deeper chain leaves the shares of the links before it as they are.

What is *not* sampled: that a text came from a call is read from the trace (`sources`), and the run is never played
through as a whole, so a chain is the conjunction of its links. That a call has no cause is no claim either.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from ....ingest.calls import ModelCall
from ....ingest.errors import NotReplayableError, WhyspanError
from ....ingest.rebuild import load_calls, unfold
from ....ingest.spans import TraceId
from ....ingest.store.querying import run_query
from ...cases import Case, freeze
from ...claims import Claim
from ...desk import Desk
from ...segments import Segment
from ..problem import Options, Role
from ..result import Kind, Stop
from ..why import WhyReport, explain, find_cause
from .chain import Chain, End, Link
from .questions import clues_of, question_about
from .sources import Source, Way, find_source, has_read, is_briefed

Adapt: TypeAlias = Callable[[Case], Case]

DEPTH = 3
"""Links that are followed unless told."""
_MADE_IN_RUN = (Role.ASSISTANT, Role.CALL_ARGUMENTS, Role.TOOL)
"""Roles whose texts an earlier call must have given rise to, found or not."""
_TRACES_OF_SESSION = "SELECT trace_id FROM spans WHERE session_id = ? GROUP BY trace_id ORDER BY min(started)"
_ENDS = {
    Stop.FOUND: End.UNRESOLVED,
    Stop.UNRESOLVED: End.UNRESOLVED,
    Stop.NO_CAUSE: End.OWN,
    Stop.RARE: End.RARE,
    Stop.BUDGET: End.BUDGET,
}
"""What it means for a chain when an attribution stops without a headline."""


def as_recorded(case: Case) -> Case:
    """Returns the case: earlier decisions are asked as they were recorded."""
    return case


async def find_chain(
    desk: Desk, case: Case, options: Options, *, depth: int = DEPTH, ask: bool = False, adapt: Adapt = as_recorded
) -> WhyReport:
    """Finds what caused a decision and, up to `depth` links back, what caused the cause; keeps the claims.

    Where there is something to follow, the decision itself is held to its share of alpha as well, for a few more
    replays. The report has a chain when it has a headline that is not diffuse and the run holds the decision. For `ask`
    see `find_cause`; `adapt` is applied to each earlier decision before it is asked, as the caller has done to the case
    itself: another model, say.
    """
    if depth == 0:
        return await find_cause(desk, case, options, ask=ask)
    # In a job many chains are followed at once: none of them waits for what another one reads.
    calls = await asyncio.to_thread(load_calls, desk.store, TraceId(case.origin.trace_id))
    if all(call.span_id != case.origin.span_id for call in calls):
        # Of a call that two tracers recorded only one span counts, or the case is from a file: there is no place in the
        # run to look back from.
        return await find_cause(desk, case, options, ask=ask)
    trail = _Trail(desk, options, desk.overlays.apply(calls), adapt)
    try:
        return await trail.walk(case, depth=depth, ask=ask)
    finally:
        desk.keep(trail.claims())


def share(options: Options, number: int) -> Options:
    """Returns the options of a chain's link, counted from 0: its share of alpha, as a bound on any false claim."""
    return replace(options, alpha=options.alpha / 2 ** (number + 1), fwer=True)


class _Trail:
    """A chain in the making: what is kept of it is valid whenever it is left."""

    def __init__(self, desk: Desk, options: Options, calls: list[ModelCall], adapt: Adapt) -> None:
        self._desk = desk
        self._options = options
        self._calls = calls
        self._adapt = adapt
        self._failure: WhyspanError | None = None
        self._numbers = {str(call.span_id): n for n, call in enumerate(self._calls, 1)}
        self._clues: tuple[str, ...] = ()
        self._links: list[Link] = []
        self._aside: list[WhyReport] = []
        """Reports without a link: of a decision, or of a hop, that has no cause to follow."""

    def claims(self) -> list[Claim]:
        """Returns the claims made so far; that a hop found no cause is told by the end of the chain."""
        reports = (*(link.report for link in self._links), *self._aside)
        return [c for report in reports for c in report.claims if c.kind == "cause" or not c.parent]

    async def walk(self, case: Case, *, depth: int, ask: bool) -> WhyReport:
        """Returns the report of the decision, with its chain."""
        report, end = await self._start(case, ask=ask)
        if not self._links:
            return report
        note = ""
        if end is None:
            reply = next((r for c in self._calls if c.span_id == case.origin.span_id for r in c.replies), None)
            self._clues = clues_of(reply, self._calls) if reply else ()
            end, note = await self._follow(depth)
        self._links[-1] = _ended(self._links[-1], end)
        reports = [link.report for link in self._links] + self._aside
        chain = Chain(
            links=tuple(self._links),
            end=end,
            note=note,
            failure=self._failure,
            asked=self._aside[-1].case if self._aside else None,
            alpha=self._options.alpha,
            replays=sum(r.attribution.draws for r in reports),
            paid=sum(r.paid for r in reports),
        )
        return replace(self._links[0].report, chain=chain)

    async def _start(self, case: Case, *, ask: bool) -> tuple[WhyReport, End | None]:
        """Explains the decision, the stricter way when its cause can be followed; returns an end when it cannot."""
        async with self._desk.experiment(case, "why") as experiment:
            report = await explain(experiment, self._options, ask=ask)
            link = await self._link(report, judged="")
            if link is None:
                self._aside.append(report)
                return report, None
            end = self._end_at(link)
            if end is None:
                again = experiment.again()
                firm = await explain(again, share(self._options, 0), ask=ask)
                again.flush()
                paid = report.paid + firm.paid
                held = await self._link(replace(firm, paid=paid), judged="")
                link = held or replace(link, report=replace(report, paid=paid))
                end = self._end_at(held) if held else _end_of(firm)
            self._links.append(link)
            return link.report, end

    async def _follow(self, depth: int) -> tuple[End, str]:
        """Adds links until there are no more; returns why, and what stood in the way."""
        while True:
            link = self._links[-1]
            end = self._end_at(link) or (End.DEPTH if len(self._links) > depth else None)
            if end is not None or link.source is None:
                return end or End.OUTSIDE, ""
            try:
                end = await self._hop(link, link.source)
            except WhyspanError as error:
                self._failure = error
                kind = End.NOT_REPLAYABLE if isinstance(error, NotReplayableError) else End.FAILED
                return kind, f"{error.message}; {error.hint}" if error.hint else error.message
            if end is not None:
                return end, ""

    async def _hop(self, link: Link, source: Source) -> End | None:
        """Explains the decision that a cause came from; returns an end when that gives no further link."""
        question = question_about(source, self._clues)
        case = self._adapt(freeze(unfold(source.call, self._calls), question.target))
        is_result = source.way is Way.RESULT
        # What makes an agent read is mostly its task; a call leads on only when something in the run led to it.
        given = not is_result or is_briefed(source.call, self._calls)
        options = replace(share(self._options, len(self._links)), given=given, full=False, guess=frozenset())
        async with self._desk.experiment(case, "why") as experiment:
            report = await explain(experiment, options)
        report = _under(report, link.claim)
        found = await self._link(report, judged=question.judged)
        if found is None or (is_result and self._end_at(found) is End.OUTSIDE):
            self._aside.append(report)
            end = _end_of(report)
            return End.TOOL if is_result and (found or end is End.OWN) else end
        self._links.append(found)
        return None

    async def _link(self, report: WhyReport, *, judged: str) -> Link | None:
        """Returns the link of a report; None when it names no cause to follow."""
        cause, claim = report.attribution.headline, report.headline
        if cause is None or claim is None or cause.kind is Kind.DIFFUSE:
            return None
        # Of several pieces that only count together one is followed: one that the run wrote before one that it read.
        pieces = [report.segmentation.group(g)[0] for g in sorted(cause.removal - cause.suppressors or cause.removal)]
        sources = [(piece, await self._source(piece, report.case)) for piece in pieces]
        piece, source = min(sources, key=lambda s: (s[1] is None, s[1] is not None and s[1].way is Way.RESULT))
        number = self._numbers.get(report.case.origin.span_id)
        return Link(report=report, claim=claim, piece=piece, source=source, number=number, judged=judged)

    async def _source(self, piece: Segment, case: Case) -> Source | None:
        request, span_id = case.request, case.origin.span_id
        found = find_source(piece, request, span_id, self._calls)
        if found is None and piece.role in _MADE_IN_RUN:
            earlier = await asyncio.to_thread(self._earlier_traces, case)
            found = find_source(piece, request, span_id, [*earlier, *self._calls])
            self._calls = [*earlier, *self._calls] if found else self._calls
        return found

    def _earlier_traces(self, case: Case) -> list[ModelCall]:
        """Returns the calls of the session's other traces, in start order; none without a session."""
        session = next((c.session_id for c in self._calls if c.span_id == case.origin.span_id), "")
        if not session:
            return []
        known = {call.trace_id for call in self._calls}
        found = run_query(self._desk.store, _TRACES_OF_SESSION, [session])
        calls = [c for (t,) in found.rows if t not in known for c in load_calls(self._desk.store, TraceId(t))]
        return self._desk.overlays.apply(calls)

    def _end_at(self, link: Link) -> End | None:
        """Returns why a link has nothing to follow; None when it has."""
        if link.source is None:
            return End.UNTRACED if link.piece.role in _MADE_IN_RUN else End.OUTSIDE
        if link.source.way is Way.RESULT and not has_read(link.source.call, self._calls):
            return End.TOOL
        return None


def _end_of(report: WhyReport) -> End:
    """Returns why a report without a cause to follow ends a chain."""
    head = report.attribution.headline
    return End.DIFFUSE if head and head.kind is Kind.DIFFUSE else _ENDS[report.attribution.stop]


def _under(report: WhyReport, parent: Claim) -> WhyReport:
    """Returns a report whose claims explain the cause of another claim."""
    claims = tuple(replace(claim, parent=parent.id) for claim in report.claims)
    head = next((new for new, old in zip(claims, report.claims, strict=True) if old is report.headline), None)
    return replace(report, claims=claims, headline=head)


def _ended(link: Link, end: End) -> Link:
    """Returns the last link of a chain, whose claim says why."""
    claim = replace(link.claim, chain_end=end.value)
    claims = tuple(claim if c is link.claim else c for c in link.report.claims)
    return replace(link, claim=claim, report=replace(link.report, claims=claims, headline=claim))
