"""The work of one run: decisions are loaded, those that are alike are linked, the others worked on, all at once.

Which decisions are linked must not depend on chance or on how often the run was killed. So the decisions of one service
and outcome are worked off in waves of 1, 2, 4, … in the order of the selection, and a decision is linked only to causes
that were known before the run or found in an earlier wave.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...ingest.calls import Json, ModelCall
from ...ingest.errors import NotFoundError, NotReplayableError, UpstreamError
from ...ingest.rebuild import rebuild_calls
from ...ingest.spans import TraceId
from ..cases import Case
from ..experiment import Experiment
from ..questions import freeze_decision
from ..replay.budget import Spend
from .definition import Job, Step
from .ledger import Item, ItemStatus, Ledger, Run, RunStatus
from .links import Known
from .records import item_span
from .shared_desk import SharedDesk
from .steps import Worked, with_model, work_on

FLUSH_S = 2.0
"""Between writes to the store, each of which costs as much as some hundred spans. What a killed run has not written is
done again from kept replies, for nothing.
"""
LOADED_AT_ONCE = 128
"""Decisions whose runs are read in one pass over the store."""
MAX_FAILURES = 5
"""Decisions in a row that an upstream failed for, after which a run gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a run has come."""

    settled: int
    total: int
    paid: int
    """Replays that the run has paid for."""
    cap: int
    cost_usd: float
    elapsed_s: float
    """Since this process took the run on."""
    fresh: int
    """Decisions settled by this process."""

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left at this pace; None before the first decision."""
        return self.elapsed_s / self.fresh * (self.total - self.settled) if self.fresh else None


@dataclass(frozen=True, slots=True)
class _Loaded:
    item: Item
    case: Case
    case_id: str
    start_ns: int


@dataclass(kw_only=True)
class Work:
    """A run in progress. `stopped` says why it ended early; None when everything was dealt with."""

    desk: SharedDesk
    job: Job
    ledger: Ledger
    run: Run
    known: Known
    on_progress: Callable[[Standing], None] = lambda _: None
    stopped: RunStatus | None = None
    note: str = ""
    _settled: list[Item] = field(default_factory=list)
    _twins: dict[str, list[_Loaded]] = field(default_factory=dict)
    _done: dict[str, Worked] = field(default_factory=dict)
    _failures: int = 0
    _booked: tuple[int, Spend] = (0, Spend())
    _counts: Counter[ItemStatus] = field(default_factory=Counter)
    _total: int = 0
    _fresh: int = 0
    _began: float = field(default_factory=time.monotonic)

    async def do(self, items: Sequence[Item]) -> None:
        """Deals with the items that wait."""
        self._total = len(items)
        self._counts.update(i.status for i in items if i.status is not ItemStatus.WAITING)
        self.desk.progress = self._advance
        work = asyncio.create_task(self._work_off([i for i in items if i.status is ItemStatus.WAITING]))
        try:
            while not work.done():
                await asyncio.wait([work], timeout=FLUSH_S)
                await self._flush()
                if self.ledger.run(self.run.run_id).is_cancelled:
                    self.stopped = RunStatus.CANCELLED
                    work.cancel()
            if not work.cancelled():
                work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            self._advance()
            await self._flush()

    async def _work_off(self, items: Sequence[Item]) -> None:
        slots = asyncio.Semaphore(self.job.concurrency)
        lines: dict[tuple[str, str], asyncio.Queue[_Loaded | None]] = defaultdict(asyncio.Queue)
        in_waves = Step.WHY in self.job.do or Step.FIX in self.job.do
        async with asyncio.TaskGroup() as group:
            async for loaded in self._load(items):
                if not in_waves:
                    await slots.acquire()
                    group.create_task(self._one(loaded, slots))
                    continue
                line = (loaded.case.origin.service, loaded.case.target.spec)
                if line not in lines:
                    group.create_task(self._waves(lines[line], slots))
                lines[line].put_nowait(loaded)
            for queue in lines.values():
                queue.put_nowait(None)

    async def _load(self, items: Sequence[Item]) -> AsyncIterator[_Loaded]:
        """Yields the cases of items, those with the same request once."""
        for start in range(0, len(items), LOADED_AT_ONCE):
            batch = items[start : start + LOADED_AT_ONCE]
            if self.stopped:
                return
            runs = await asyncio.to_thread(self._read, {item.decision.trace_id for item in batch})
            for item in batch:
                loaded = self._freeze(item, runs[item.decision.trace_id])
                if loaded is not None:
                    yield loaded

    def _read(self, trace_ids: set[TraceId]) -> dict[TraceId, list[ModelCall]]:
        traces = self.desk.store.traces(sorted(trace_ids))
        return {trace_id: rebuild_calls(spans, logs) for trace_id, (spans, logs) in traces.items()}

    def _freeze(self, item: Item, calls: Sequence[ModelCall]) -> _Loaded | None:
        """Returns the case of an item; None when it is dealt with by that: skipped, or like one that came before."""
        start_ns = time.time_ns()
        try:
            case = with_model(self.job, freeze_decision(calls, item.decision))
        except (NotReplayableError, NotFoundError) as error:
            self._settle(item, ItemStatus.SKIPPED, {"note": error.message}, start_ns)
            return None
        loaded = _Loaded(item, case, case.id, start_ns)
        if loaded.case_id in self._done:
            self._link_twin(loaded, self._done[loaded.case_id])
            return None
        if loaded.case_id in self._twins:
            self._twins[loaded.case_id].append(loaded)
            return None
        self._twins[loaded.case_id] = []
        return loaded

    async def _waves(self, queue: "asyncio.Queue[_Loaded | None]", slots: asyncio.Semaphore) -> None:
        size, is_last = 1, False
        while not is_last:
            wave: list[_Loaded] = []
            while len(wave) < size and not is_last:
                loaded = await queue.get()
                if loaded is None:
                    is_last = True
                elif not self._link_cause(loaded):
                    wave.append(loaded)
            for worked in await self._together(wave, slots):
                if worked and worked.why and worked.why.headline:
                    self.known.add_cause(worked.case, worked.why.headline.subject)
            size *= 2

    async def _together(self, wave: Sequence[_Loaded], slots: asyncio.Semaphore) -> list[Worked | None]:
        tasks = []
        async with asyncio.TaskGroup() as group:
            for loaded in wave:
                await slots.acquire()
                tasks.append(group.create_task(self._one(loaded, slots)))
        return [task.result() for task in tasks]

    async def _one(self, loaded: _Loaded, slots: asyncio.Semaphore) -> Worked | None:
        """Works on one decision, in a slot that the caller has taken; None when the run stops before it is done."""
        try:
            if self.stopped:
                return None
            worked = await work_on(self.desk, self.job, loaded.case)
        except UpstreamError as error:
            self._fail(loaded, error)
            return None
        finally:
            slots.release()
        self._failures = 0
        if self.desk.budget.is_exhausted:
            self.stopped = self.stopped or RunStatus.BUDGET
            return None
        self._settle(loaded.item, ItemStatus.DONE, {"case_id": loaded.case_id, **worked.to_json()}, loaded.start_ns)
        self._done[loaded.case_id] = worked
        for twin in self._twins.pop(loaded.case_id, ()):
            self._link_twin(twin, worked)
        return worked

    def _fail(self, loaded: _Loaded, error: UpstreamError) -> None:
        self._settle(loaded.item, ItemStatus.FAILED, {"note": error.message}, loaded.start_ns)
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self.stopped, self.note = RunStatus.FAILED, error.message

    def _link_twin(self, loaded: _Loaded, worked: Worked) -> None:
        """Links a decision with the same request; every claim about the one holds for the other word for word."""
        claims = (*(worked.why.claims if worked.why else ()), *(worked.fix.claims if worked.fix else ()))
        self.desk.keep(replace(claim, case=loaded.case) for claim in claims)
        origin = worked.case.origin
        self._link(loaded, origin.trace_id, origin.span_id, "the same request")

    def _link_cause(self, loaded: _Loaded) -> bool:
        cause = self.known.cause_in(loaded.case)
        if cause is None or (cause.place.trace_id, cause.place.span_id) == (
            loaded.item.decision.trace_id, loaded.item.decision.span_id,
        ):  # fmt: skip
            return False
        self._link(loaded, cause.place.trace_id, cause.place.span_id, "its request holds the cause found there")
        return True

    def _link(self, loaded: _Loaded, trace_id: str, span_id: str, note: str) -> None:
        outcome = {
            "case_id": loaded.case_id, "target": loaded.case.target.label,
            "linked": {"trace_id": trace_id, "span_id": span_id}, "note": note,
        }  # fmt: skip
        self._settle(loaded.item, ItemStatus.LINKED, outcome, loaded.start_ns)

    def _settle(self, item: Item, status: ItemStatus, outcome: dict[str, Json], start_ns: int) -> None:
        settled = replace(item, status=status, outcome=outcome)
        self.desk.write([item_span(self.run, settled, start_ns=start_ns, end_ns=time.time_ns())])
        self._settled.append(settled)
        self._counts[status] += 1
        self._fresh += 1

    async def _flush(self) -> None:
        """Makes records durable, and only then writes down that their items are dealt with."""
        settled, self._settled = self._settled, []
        await asyncio.to_thread(self.desk.flush)
        self.ledger.settle(self.run.run_id, _results(settled))

    def _advance(self, _: Experiment | None = None) -> None:
        """Books what has been paid since the last time, and shows how the run stands."""
        budget = self.desk.budget
        calls, spend = self._booked
        paid, now = budget.spent - calls, Spend(tokens=budget.tokens, cost_usd=budget.cost_usd)
        if paid:
            more = Spend(tokens=now.tokens - spend.tokens, cost_usd=now.cost_usd - spend.cost_usd)
            self.ledger.book(self.run, paid, more)
            self._booked = (budget.spent, now)
        self.on_progress(
            Standing(
                settled=self._counts.total(), total=self._total, paid=self.run.calls + budget.spent,
                cap=self.run.calls + budget.cap, cost_usd=self.run.cost_usd + budget.cost_usd,
                elapsed_s=time.monotonic() - self._began, fresh=self._fresh,
            )
        )  # fmt: skip


def _results(items: Iterable[Item]) -> list[tuple[int, ItemStatus, dict[str, Json]]]:
    return [(i.position, i.status, i.outcome) for i in items]
