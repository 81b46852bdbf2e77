"""Draws samples of a forced choice from the probabilities that the model tells: one call for any number of them.

A server computes the probabilities of the next token and draws from them. Where it tells them and that token makes the
choice, the draw can as well be made here: its law is the same, so whatever holds for samples holds for these.
"""

import json
import random
import time
from collections.abc import Sequence

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
        self._readings: dict[str, Reading | None] = {}
        self._paid: set[str] = set()
        """Requests whose reading was paid for, and of which no sample has been drawn yet."""
        self._widths: Sequence[int] = WIDTHS

    @classmethod
    async def open(cls, engine: ReplayEngine, case: Case) -> "ChoiceSampler | None":
        """Returns a sampler; None when no choice tells the case's target, or the model does not tell its odds."""
        sampler = cls(engine)
        reading = await sampler._read(case.request)
        return sampler if reading and _is_told(case.target, reading) else None

    async def sample(self, request: Body, first: int, count: int) -> list[tuple[StoredReply, bool]]:
        """Returns samples as `ReplayEngine.sample` does; the first one after a reading counts as paid."""
        reading = await self._read(request)
        if reading is None:
            return await self._engine.sample(request, first, count)
        key, now = digest(request), time.time_ns()
        options, weights = list(reading.options), list(reading.options.values())
        found = []
        for sample in range(first, first + count):
            (option,) = random.Random(f"{key} {sample}").choices(options, weights)
            is_paid = key in self._paid
            self._paid.discard(key)
            completion = Completion(reply=reading.reply(option), usage=reading.usage if is_paid else Usage())
            found.append((StoredReply(sample=sample, completion=completion, start_ns=now, end_ns=now), not is_paid))
        return found

    def has_read(self, request: Body) -> bool:
        """Whether samples of a request that was asked about are drawn here."""
        return self._readings.get(digest(request)) is not None

    async def _read(self, request: Body) -> Reading | None:
        """Returns what the model tells of a request, from memory where it has been asked before."""
        request_key = digest(request)
        if request_key in self._readings:
            return self._readings[request_key]
        key = digest({"reading": request_key})
        if (kept := self._engine.recall(key)) is not None:
            reading = _unpacked(request, kept)
        else:
            reading = await read_choice(self._engine, request, self._widths)
            if reading is None and not self._engine.budget.left:
                return None
            if reading is not None:
                self._engine.keep(key, _packed(reading))
                self._paid.add(request_key)
                self._widths = WIDTHS[1:] if reading.calls > 1 else self._widths
        self._readings[request_key] = reading
        return reading


def _is_told(target: Target, reading: Reading) -> bool:
    """Whether the choice alone tells the target: some options are the target, others are not."""
    asks_no_more = isinstance(target, TextTarget) or (isinstance(target, ToolTarget) and not target.conditions)
    return asks_no_more and len({target.matches(reading.reply(option)) for option in reading.options}) == 2


def _packed(reading: Reading) -> Completion:
    text = json.dumps({"before": reading.before, "options": dict(reading.options)})
    return Completion(reply=ModelReply(text=text), usage=reading.usage)


def _unpacked(request: Body, kept: StoredReply) -> Reading | None:
    choice, told = choice_of(request), json.loads(kept.completion.reply.text)
    return Reading(choice=choice, **told, usage=kept.completion.usage) if choice else None
