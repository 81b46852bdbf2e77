"""What a scenario has learned: playbook, book of tests and served bundles, in one folder."""

import ast
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....ingest.errors import NotFoundError, UsageError
from ....ingest.store import Store
from ....ingest.store.durable import try_lock
from ...statistics.betting import log_e_above
from ...statistics.levels import admission_level
from ...statistics.logarithms import from_log
from ..scenarios.scenario import BRANCH, Scenario, is_plain_name
from .evidence import Book
from .gate import Decision, Strategy
from .lesson import Lesson
from .playbook import KNOWLEDGE, Item, Playbook, Status
from .records import Finding, lesson_claim_id
from .shelf import Shelf

_STATUSES = {
    Decision.ADMITTED: Status.ACTIVE,
    Decision.REFUTED: Status.REFUTED,
    Decision.INCONCLUSIVE: Status.INCONCLUSIVE,
}

_FIX = (
    "SELECT claim_id, subject FROM claims WHERE starts_with(claim_id, ?) AND kind = 'fix' AND verdict = 'supported' "
    "AND starts_with(subject, 'with the rule ') ORDER BY started DESC LIMIT 1"
)


class Knowledge:
    """The folder `knowledge/<scenario>`."""

    def __init__(self, folder: Path) -> None:
        """Reads it; a folder that is not there is empty."""
        self.folder = folder
        self.branch = folder.name.partition(BRANCH)[2]
        """Empty for the main one."""
        self.playbook = Playbook(folder / "playbook.yaml")
        self.book = Book(folder / "tests.jsonl")
        self.shelf = Shelf(folder)

    def lessons(self) -> list[Lesson]:
        """Returns every lesson in the playbook."""
        return [item.lesson for item in self.playbook.items]

    @property
    def waiting(self) -> list[Lesson]:
        """The lessons in the playbook that wait for a test."""
        return [item.lesson for item in self.playbook.items if item.status is Status.PROPOSED]

    def begin_epoch(self, epoch: str) -> None:
        """Marks lessons that were tested with another scorer or model: they wait for another test."""
        for item in self.playbook.items:
            if item.status is Status.ACTIVE and item.evidence.get("epoch") != epoch:
                self._set(item, Status.RETEST_DUE)
        self._serve()

    def record(self, scenario: Scenario, found: Finding, strategy: Strategy) -> None:
        """Notes what was found about a lesson, and serves it when it passed."""
        status = _STATUSES[found.decision]
        if strategy is Strategy.NONE and status is Status.ACTIVE:
            status = Status.PROPOSED
        scope = {"scenario": scenario.name, "models": [scenario.proposer.model or scenario.proposer.provider]}
        self.playbook.put(found.lesson, status, evidence=evidence_of(scenario, found), scope=scope)
        self._serve()

    def propose_rule(self, text: str) -> Item:
        """Adds a rule that waits for a test."""
        item = self.playbook.put(Lesson(action=text), Status.PROPOSED, evidence={}, scope={})
        self.playbook.save()
        return item

    def propose_fix(self, store: Store, claim: str) -> Item:
        """Adds the rule of a supported fix, which holds on one case so far; NotFoundError when there is none."""
        with store.connect() as db:
            found = db.execute(_FIX, [claim.removeprefix("clm_")]).fetchone()
        if found is None:
            raise NotFoundError(
                f"no supported fix that adds a rule has the claim {claim!r}",
                hint="whyspan sql \"SELECT claim_id, subject FROM claims WHERE kind = 'fix'\"",
            )
        rule = found[1].removeprefix("with the rule ")
        evidence = {"claim": "clm_" + found[0][:12], "level": "case"}
        lesson = Lesson(action=str(ast.literal_eval(rule)), rationale="a fix that holds on one case")
        item = self.playbook.put(lesson, Status.PROPOSED, evidence=evidence, scope={})
        self.playbook.save()
        return item

    def demote(self, item: Item) -> None:
        """Takes a lesson out of service."""
        self._set(item, Status.DEMOTED)
        self._serve()

    def roll_back(self) -> list[str]:
        """Serves the bundle before the one in force; returns the names of the items that are demoted by it."""
        kept = self.shelf.roll_back()
        demoted = [i for i in self.playbook.items if i.status is Status.ACTIVE and i.lesson.id not in kept]
        restored = [i for i in self.playbook.items if i.status is Status.DEMOTED and i.lesson.id in kept]
        for item in demoted:
            self._set(item, Status.DEMOTED)
        for item in restored:
            self._set(item, Status.ACTIVE)
        self.playbook.save()
        return [item.id for item in demoted]

    def audit(self) -> Iterator[str]:
        """Yields what is wrong with the playbook, a line each: evidence that the book of tests does not bear out."""
        for item in self.playbook.items:
            if item.status is not Status.ACTIVE:
                continue
            results = self.book.results(item.lesson.id, epoch=str(item.evidence.get("epoch", "")))
            if not results:
                yield f"{item.id} is active, but no test of it is on record"
                continue
            first = results[0]
            if log_e_above(first.blocks) < -math.log(admission_level(first.number, first.alpha)):
                yield f"{item.id} is active, but its test does not reach the threshold"
            measured = from_log(log_e_above([d for entry in results for d in entry.blocks]))
            if not math.isclose(float(item.evidence.get("e", 0)), measured, rel_tol=1e-3):
                yield f"{item.id} states e = {item.evidence.get('e')}, the tests give {measured:.4g}"

    def prune(self) -> list[str]:
        """Removes what is neither served nor waiting from the file; the book of tests still blocks it."""
        gone = [i.id for i in self.playbook.items if i.status in (Status.REFUTED, Status.INCONCLUSIVE, Status.DEMOTED)]
        self.playbook.remove(gone)
        self.playbook.save()
        return gone

    def _set(self, item: Item, status: Status) -> None:
        self.playbook.put(item.lesson, status, evidence={}, scope={})

    def _serve(self) -> None:
        self.playbook.save()
        self.shelf.serve(self.playbook.active())


def evidence_of(scenario: Scenario, found: Finding) -> dict[str, Any]:
    """Returns the field `evidence` of a playbook."""
    measured = found.measured
    return {
        "claim": "clm_" + lesson_claim_id(scenario, found.lesson)[:12],
        "e": round(from_log(measured.log_help), 4),
        "effect": round(measured.effect, 4),
        "ci": [round(end, 2) for end in measured.interval],
        "cases": len(measured.blocks),
        "pairs": len(measured.blocks) * scenario.samples,
        "heldout": len(measured.heldout),
        "number": measured.number,
        "epoch": scenario.epoch,
        "level": "ablation",
    }


def knowledge_name(scenario: Scenario, given: str) -> str:
    """Returns the name of what a scenario has learned: its own with the branch that was given, `support@bold`."""
    return "".join((scenario.name, *given.partition(BRANCH)[1:]))


def branches(scenario: str) -> list[str]:
    """Returns the names of the branches that there are."""
    return sorted(folder.name for folder in KNOWLEDGE.glob(f"{scenario}{BRANCH}*"))


def make_branch(name: str, branch: str) -> str:
    """Copies what a scenario, or another branch of it, has learned; returns the name of the copy.

    The copy has the book of tests too, so that its lessons are numbered on: it is no way to try the same again.
    """
    if not is_plain_name(branch):
        raise UsageError(f"{branch!r} is no name for a branch", hint="letters, digits, _ and -")
    made = f"{name.partition(BRANCH)[0]}{BRANCH}{branch}"
    if (KNOWLEDGE / made).exists():
        raise UsageError(f"there is a branch {made} already", hint="choose another --name")
    with open_knowledge(name) as knowledge:
        shutil.copytree(knowledge.folder, KNOWLEDGE / made, ignore=shutil.ignore_patterns(".lock"))
    return made


@contextmanager
def open_knowledge(name: str) -> Iterator[Knowledge]:
    """Opens what a scenario, or a branch of it, has learned.

    NotFoundError for a branch that was not made, UsageError when another process works on it.
    """
    folder = KNOWLEDGE / name
    if BRANCH in name and not folder.is_dir():
        scenario, _, branch = name.partition(BRANCH)
        hint = f"whyspan knowledge branch --scenario {scenario} --name {branch}"
        raise NotFoundError(f"there is no branch {name!r}", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    with try_lock(folder / ".lock") as is_got:
        if not is_got:
            raise UsageError(f"another process works on {folder}", hint="wait for it to end")
        yield Knowledge(folder)
