"""`why` as the one that is put to the test: decisions whose cause was planted, and whether it is found.

A scenario of the family `investigation` names the provider `why` and a rule-based model, `model: FILE:FUNCTION`, whose
decision is known to hang on a planted text. The answer is that text as far as it was found, so that a predicate can
score it. The model being a function, the replays of one investigation cost nothing; `budget` says how many there are.
"""

from collections.abc import Sequence

from ....ingest.calls import Body, ModelReply
from ...attribution.problem import Options
from ...attribution.why import explain
from ...cases import Case
from ...experiment import Experiment
from ...replay.budget import Budget
from ...replay.completion import Completion, Provider
from ...replay.engine import ReplayEngine
from ...replay.reply_store import SqliteReplyStore

BUDGET = 200


class Investigator:
    """A provider that answers a decision with its cause."""

    batch = 1

    def __init__(self, model: Provider, case: Case, budget: int) -> None:
        self._model = model
        self._case = case
        self._budget = budget
        self.endpoint = f"why:{budget}:{case.target.spec}:{model.endpoint}"

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Investigates once; the text is that of the causes, a line each, and empty when there is none."""
        replies = SqliteReplyStore(None)
        try:
            engine = ReplayEngine(self._model, replies, Budget(self._budget))
            experiment = Experiment(case=self._case.with_request(request), engine=engine, stream="why")
            report = await explain(experiment, Options(full=True))
        finally:
            replies.close()
        causes = [claim.subject for claim in report.claims if claim.kind == "cause"]
        return [Completion(reply=ModelReply(text="\n".join(causes), finish_reason="stop"))]

    async def aclose(self) -> None:
        """Lets go of the model."""
        await self._model.aclose()
