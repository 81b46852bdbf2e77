"""Draws samples of a forced choice from the probabilities that the model tells: one call for any number of them.

A server computes the probabilities of the next token and draws from them. Where it tells them and that token makes the
choice, the draw can as well be made here: its law is the same, so whatever holds for samples holds for these.
"""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace

from ...ingest.calls import Body, ModelReply, Usage
from ..canonical import digest
from ..cases import Case
from ..targets import Target, TextTarget, ToolTarget
from .completion import Completion
from .engine import ReplayEngine
from .logprobs import WIDTHS, Reading, choice_of, read_choice
from .reply_store import StoredReply

SAMPLES_PER_CALL = 16
"""How many samples of one request an experiment draws at a time."""


class ChoiceSampler:
    """Answers for an engine, asking it once for each request; a request that forces no choice is sampled there.

    Readings are kept beside the replies, so they are not paid for twice. Sample `i` of a request is the same draw every
    time, as a stored reply is.
    """

    def __init__(self, engine: ReplayEngine) -> None:
        self._engine = engine
        self._readings: dict[str, tuple[Reading, StoredReply] | None] = {}
        """Request → what the model told, and how that is kept; None where it is to be sampled."""
        self._undrawn: dict[str, bool] = {}
        """Request of which no sample has been drawn yet → whether its reading was paid for now."""
        self._widths: Sequence[int] = WIDTHS

    @classmethod
    async def open(cls, engine: ReplayEngine, case: Case) -> "ChoiceSampler | None":
        """Returns a sampler; None when no choice tells the case's target, or the model does not tell its odds."""
        sampler = cls(engine)
        found = await sampler._read(case.request)
        return sampler if found and _is_told(case.target, found[0]) else None

    async def sample(self, request: Body, first: int, count: int) -> list[tuple[StoredReply, bool]]:
        """Returns samples as `ReplayEngine.sample` does; the first one stands for the call, with what that took."""
        known = await self._read(request)
        if known is None:
            return await self._engine.sample(request, first, count)
        (reading, kept), key = known, digest(request)
        options, weights = list(reading.options), list(reading.options.values())
        found = []
        for sample in range(first, first + count):
            (option,) = random.Random(f"{key} {sample}").choices(options, weights)
            is_first, is_paid = key in self._undrawn, self._undrawn.pop(key, False)
            completion = Completion(reply=reading.reply(option), usage=reading.usage if is_first else Usage())
            found.append((replace(kept, sample=sample, completion=completion), not is_paid))
        return found

    def has_read(self, request: Body) -> bool:
        """Whether samples of a request that was asked about are drawn here."""
        return self._readings.get(digest(request)) is not None

    async def _read(self, request: Body) -> tuple[Reading, StoredReply] | None:
        """Returns what the model tells of a request, from memory where it has been asked before."""
        request_key = digest(request)
        if request_key not in self._readings:
            found = self._recall(request) or await self._ask(request)
            if found is None and not self._engine.budget.left:
                return None
            self._readings[request_key] = found
        return self._readings[request_key]

    def _recall(self, request: Body) -> tuple[Reading, StoredReply] | None:
        kept, choice = self._engine.recall(_key(request)), choice_of(request)
        if kept is None or choice is None:
            return None
        told = json.loads(kept.completion.reply.text)
        self._undrawn[digest(request)] = False
        return Reading(choice=choice, **told, usage=kept.completion.usage), kept

    async def _ask(self, request: Body) -> tuple[Reading, StoredReply] | None:
        start_ns = time.time_ns()
        reading = await read_choice(self._engine, request, self._widths)
        if reading is None:
            return None
        text = json.dumps({"before": reading.before, "options": dict(reading.options)})
        completion = Completion(reply=ModelReply(text=text), usage=reading.usage)
        kept = StoredReply(sample=0, completion=completion, start_ns=start_ns, end_ns=time.time_ns())
        self._engine.keep(_key(request), kept)
        self._undrawn[digest(request)] = True
        self._widths = WIDTHS[1:] if reading.calls > 1 else self._widths
        return reading, kept


def _key(request: Body) -> str:
    return digest({"reading": digest(request)})


def _is_told(target: Target, reading: Reading) -> bool:
    """Whether the choice alone tells the target: some options are the target, others are not."""
    asks_no_more = isinstance(target, TextTarget) or (isinstance(target, ToolTarget) and not target.conditions)
    return asks_no_more and len({target.matches(reading.reply(option)) for option in reading.options}) == 2
