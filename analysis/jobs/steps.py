"""What a job does with one decision: measure, explain, fix, write a test, write back."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...ingest.calls import Json
from ...ingest.errors import UpstreamError
from ...ingest.remote import Patience
from ...ingest.spans import Span
from ...ingest.store import Store
from ..attribution.chain import DEPTH, find_chain
from ..attribution.problem import Options, Outcome
from ..attribution.result import Stop
from ..attribution.why import WhyReport
from ..cases import Case
from ..fixes.fix import FixReport, find_fixes
from ..interventions import Noop
from ..links import load_links
from ..records import claim_span
from ..regression.writer import write_test
from ..statistics.intervals import rate_interval
from ..writeback.deliver import write_back
from ..writeback.outbox import Outbox
from ..writeback.registry import find_target
from ..writeback.results import results_of
from .definition import Job, Step
from .shared_desk import SharedDesk

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often the model decides so."""

    hits: int
    draws: int
    interval: tuple[float, float]
    """95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What came of one decision."""

    case: Case
    rate: Rate | None = None
    why: WhyReport | None = None
    fix: FixReport | None = None
    test: Path | None = None
    sent: int = 0
    """Claims that were written back."""

    @property
    def is_cut_short(self) -> bool:
        """Replays ran out before there was an answer."""
        return self.why is not None and self.why.attribution.stop is Stop.BUDGET

    def to_json(self) -> dict[str, Json]:
        """Returns what the ledger keeps: figures and ids, and the chain as `whyspan why --json` has it.

        Only the chain quotes the trace, so it goes no further than the user's own store.
        """
        document: dict[str, Json] = {"target": self.case.target.label}
        if self.rate:
            document |= {"rate": self.rate.hits / self.rate.draws if self.rate.draws else None, "n": self.rate.draws}
            document |= {"interval": list(self.rate.interval)}
        if self.why:
            document |= {"stop": self.why.attribution.stop.value, "claims": [c.id for c in self.why.claims]}
            document |= {"headline": self.why.headline.id if self.why.headline else None}
            document |= {"effect": self.why.headline.effect if self.why.headline else None}
            document |= {"chain": self.why.chain.to_json() if self.why.chain else None}
        if self.fix:
            document |= {"fix": self.fix.best.candidate.name if self.fix.best else None}
        if self.test:
            document |= {"test": str(self.test)}
        return document | ({"sent": self.sent} if self.sent else {})


async def work_on(desk: SharedDesk, job: Job, case: Case) -> Worked:
    """Does a job's steps with one decision. Raises UpstreamError when the model cannot be asked."""
    rate = await _measure(desk, case, job.samples) if Step.ODDS in job.do else None
    why = await _explain(desk, job, case) if Step.WHY in job.do else None
    fix = await find_fixes(desk, case, Options(), why=why) if Step.FIX in job.do else None
    why = fix.why if fix else why
    test = _write_test(job, case, why, fix) if Step.TEST in job.do and (why is None or why.headline) else None
    sent = await _send(desk, job, why, fix) if Step.WRITEBACK in job.do else 0
    return Worked(case=case, rate=rate, why=why, fix=fix, test=test, sent=sent)


def with_model(job: Job, case: Case) -> Case:
    """Returns the case as a job asks it: of the model that the job names, if it names one."""
    return case.with_request({**case.request, "model": job.model}) if job.model else case


def depth_of(job: Job) -> int:
    """Returns how many links `why` follows a cause back."""
    return DEPTH if job.depth is None else job.depth


def most_replays(job: Job) -> int:
    """Returns the replays that one decision may take, without those of a fix on further cases."""
    whys = 1 + depth_of(job) if Step.WHY in job.do else int(Step.FIX in job.do)
    return (whys + (Step.FIX in job.do)) * job.per_decision + (Step.ODDS in job.do) * job.samples


async def _explain(desk: SharedDesk, job: Job, case: Case) -> WhyReport:
    """Finds the cause and follows it.

    What an endpoint fails at for the moment is raised, so that the next run goes on with the decision. A model that can
    never be asked, a sub-agent's say, ends the chain and nothing else.
    """
    adapt = partial(with_model, job)
    why = await find_chain(desk, case, Options(), depth=depth_of(job), adapt=adapt)
    failure = why.chain.failure if why.chain else None
    if isinstance(failure, UpstreamError) and failure.transient:
        raise failure
    return why


async def _measure(desk: SharedDesk, case: Case, samples: int) -> Rate:
    async with desk.experiment(case, "replay") as experiment:
        outcomes = await experiment.draw(Noop(), samples, request=case.request)
    hits = sum(outcome is Outcome.TARGET for outcome in outcomes)
    interval = rate_interval(hits, len(outcomes), alpha=ALPHA)
    return Rate(hits=hits, draws=len(outcomes), interval=(interval.low, interval.high))


def _write_test(job: Job, case: Case, why: WhyReport | None, fix: FixReport | None) -> Path:
    name = f"test_{case.origin.trace_id[:12]}_{case.origin.span_id[:8]}.py"
    claims = why.claims if why else ()
    return write_test(Path(job.tests) / name, case, claims=claims, fix=fix.best_rule if fix else None).test


async def _send(desk: SharedDesk, job: Job, why: WhyReport | None, fix: FixReport | None) -> int:
    found = (why.chain or why).claims if why else ()
    claims = (*found, *(fix.claims if fix else ()))
    # The time is that of the decision, not of now: the same claim sent again is the same span, byte for byte.
    spans: list[Span] = [claim_span(c, time_ns=c.case.origin.start_ns) for c in claims]
    if spans:
        await asyncio.to_thread(_write_back, desk.store, job, spans)
    return len(spans)


def _write_back(store: Store, job: Job, spans: Sequence[Span]) -> None:
    results = results_of(store, spans, include_content=job.include_content, links=load_links())
    for name in job.to:
        opened = find_target(name)(endpoint=job.endpoint or None, patience=Patience(attempts=3))
        with opened as target, Outbox.open(store.path) as outbox:
            write_back(target, name, results, outbox)
