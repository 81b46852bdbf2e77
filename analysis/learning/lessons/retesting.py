"""Tests lessons again: evidence for those in force keeps growing, and what does harm by now is taken out of service."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..play.bench import SAMPLES_OF_A_RUN, Bench
from ..play.plays import all_spans
from .evidence import Entry
from .gate import Decision, Measurement, Strategy
from .knowledge import Knowledge, evidence_of
from .playbook import Item, Status
from .records import Finding, Place, finding_span
from .run_state import RunState, end_run, start_run
from .testing import Pair, Tester, mean_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Retest:
    """What came of an item."""

    item: Item
    status: Status
    """How it stands now."""
    finding: Finding


async def retest(bench: Bench, knowledge: Knowledge, strategy: Strategy, *, budget: int) -> list[Retest]:
    """Tests what is in force, or waits because scorer or model have changed, on fresh samples.

    `budget` is how many pairs of cases there may be in all; they are shared evenly. Evidence multiplies: it is that of
    all pairs since the first.
    """
    state = start_run(knowledge, bench.scenario.epoch, "retest")
    due = [i for i in knowledge.playbook.items if i.status in (Status.ACTIVE, Status.RETEST_DUE)]
    each = budget // max(len(due), 1)
    results = [await _retest(bench, knowledge, strategy, state, item, each) for item in due]
    end_run(knowledge, state)
    return results


async def _retest(
    bench: Bench, knowledge: Knowledge, strategy: Strategy, state: RunState, item: Item, most: int
) -> Retest:
    tester = Tester(bench=bench, knowledge=knowledge, strategy=strategy, run=state.run)
    served, first = knowledge.playbook.active(), state.ordinal * SAMPLES_OF_A_RUN
    place = Place(run=state.run, start_ns=time.time_ns(), end_ns=time.time_ns())
    if item.status is Status.RETEST_DUE:
        found, plays = await tester.test(item.lesson, served, first=first)
    else:
        pairs = await tester.pairs(bench.scenario.confirming[:most], item.lesson, served, first=first)
        plays = [play for pair in pairs for play in (*pair.without, *pair.changed)]
        found = _more(bench, knowledge, state, item, pairs)
        _update(bench, knowledge, item, found)
    claim = finding_span(bench.scenario, found, strategy, place, parent="")
    bench.store.write([*all_spans(plays), claim])
    now = knowledge.playbook.find(item.lesson.id)
    return Retest(item=item, status=now.status if now else item.status, finding=found)


def _more(bench: Bench, knowledge: Knowledge, state: RunState, item: Item, pairs: Sequence[Pair]) -> Finding:
    """Adds pairs to the evidence of a lesson; the decision is REFUTED when all of them together show harm."""
    epoch = bench.scenario.epoch
    earlier = [e for e in knowledge.book.results(item.lesson.id, epoch=epoch) if e.run != state.run]
    first = earlier[0]
    blocks = tuple(p.block for p in pairs)
    drawn = (*(d for entry in earlier for d in entry.blocks), *blocks)
    measured = Measurement(number=first.number, alpha=first.alpha, blocks=drawn, heldout=first.heldout)
    decision = Decision.REFUTED if measured.is_harmful else Decision.ADMITTED
    knowledge.book.settle(
        Entry(
            lesson=item.lesson.id, epoch=epoch, run=state.run, number=first.number, alpha=first.alpha,
            decision=decision.value, blocks=blocks,
        )
    )  # fmt: skip
    return Finding(lesson=item.lesson, measured=measured, decision=decision, rates=mean_scores(pairs))


def _update(bench: Bench, knowledge: Knowledge, item: Item, found: Finding) -> None:
    evidence = evidence_of(bench.scenario, found)
    knowledge.playbook.put(item.lesson, item.status, evidence=evidence, scope={})
    if found.decision is Decision.REFUTED:
        knowledge.demote(item)
    knowledge.playbook.save()
