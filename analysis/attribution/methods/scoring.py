"""Scores the pieces of a decision by another method than `why`, with the same segments, engine and budget."""

from dataclasses import dataclass

from ....ingest.calls import Json
from ...cases import Case
from ...desk import Desk
from ...experiment import Experiment
from ...segments import Segment, Segmentation, segment
from ..driving import drive
from .contextcite import contextcite
from .judge import judge_pieces
from .leave_one_out import leave_one_out
from .scores import Method, Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReport:
    """How a method ranks the pieces of one decision. It claims nothing, and nothing of it is kept as a claim."""

    case: Case
    segmentation: Segmentation
    method: Method
    scores: Scores
    paid: int
    """Replays and questions that were paid for in this run."""

    def piece(self, leaf: int) -> Segment:
        """Returns a piece where it was read last."""
        return self.segmentation.group(leaf)[-1]

    def to_json(self) -> dict[str, Json]:
        """Returns the document that `whyspan why --method --json` prints."""
        scores = self.scores
        return {
            "method": self.method.value,
            "is_tested": False,
            "case_id": self.case.id,
            "trace_id": self.case.origin.trace_id,
            "span_id": self.case.origin.span_id,
            "target": self.case.target.spec,
            "named": None if scores.named is None else self._to_json(scores.named),
            "scores": [self._to_json(leaf) for leaf in scores.ranked],
            "base": {"target": scores.baseline.target, "draws": scores.baseline.draws},
            "pieces": len(self.segmentation.groups),
            "replays": scores.draws,
            "paid": self.paid,
            "is_complete": scores.is_complete,
        }

    def _to_json(self, leaf: int) -> dict[str, Json]:
        piece = self.piece(leaf)
        return {"piece": leaf, "score": self.scores.values[leaf], "place": piece.place, "text": piece.text}


async def score_pieces(desk: Desk, case: Case, method: Method) -> ScoreReport:
    """Scores the pieces of a case; the cap is the desk's budget."""
    async with desk.experiment(case, "score") as experiment:
        return await score(experiment, method)


async def score(experiment: Experiment, method: Method, *, seed: int = 0) -> ScoreReport:
    """Scores the pieces of an experiment's case; `seed` is that of random removals."""
    case, spent = experiment.case, experiment.engine.budget.spent
    cut = segment(case.api, case.request)
    match method:
        case Method.JUDGE:
            scores = await judge_pieces(experiment, cut)
        case Method.LOO:
            scores = await drive(leave_one_out(cut.leaves()), experiment, cut)
        case Method.CONTEXTCITE:
            scores = await drive(contextcite(cut.leaves(), seed=seed), experiment, cut)
    paid = experiment.engine.budget.spent - spent
    return ScoreReport(case=case, segmentation=cut, method=method, scores=scores, paid=paid)
