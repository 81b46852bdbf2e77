"""The working place of an experiment: a store to take decisions from, a model to ask, and the records that stay.

`why`, `fix` and `test` all start here, from the command line and from Python alike.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ingest.calls import ModelCall
from ..ingest.overlays import NO_OVERLAYS, Overlay, Overlays, read_overlays
from ..ingest.prices import PriceList, read_prices
from ..ingest.rebuild import load_run
from ..ingest.settings import load_section, load_settings
from ..ingest.spans import Span
from ..ingest.store import Store
from ..ingest.store.querying import run_query
from .cases import Case, freeze
from .claims import Claim
from .experiment import Experiment, Progress
from .records import claim_span, trial_spans
from .replay.budget import Budget
from .replay.drawing import ChoiceSampler
from .replay.engine import ReplayEngine
from .replay.estimate import Estimate, estimate
from .replay.models import ModelChoice, choose_model
from .replay.prices import NO_PRICES
from .replay.reply_store import SqliteReplyStore
from .targets import ErrorTarget, select

REPLY_FILE = "replies.sqlite"


@dataclass
class Desk:
    """A store and a model, with one budget for everything that is asked here."""

    store: Store
    model: ModelChoice
    budget: Budget
    concurrency: int = 8
    progress: Progress = field(default=lambda _: None)
    prices: PriceList = NO_PRICES
    """The user's own prices; the public list counts beside them."""
    overlays: Overlays = NO_OVERLAYS
    """What is put into recorded requests before they are frozen."""
    warn: Callable[[str], None] = field(default=lambda _: None)
    """Gets what a reader of the results has to know, such as a model that changed while it was asked."""
    no_cache: bool = False
    """Neither takes replies from earlier runs nor keeps any."""
    max_age_s: float | None = None
    """Replies from earlier runs that are older are asked for again."""
    logprobs: bool = False
    """Draws from the probabilities that the model tells, where it tells them and the request forces a choice."""
    per_experiment: int | None = None
    """Trials that one experiment may have, those known from before included."""

    @property
    def reply_file(self) -> Path:
        """Where paid replies are kept."""
        return Path(self.store.path) / REPLY_FILE

    def calls(self, run: str) -> list[ModelCall]:
        """Returns the model calls of a run, in start order."""
        return self.overlays.apply(load_run(self.store, run))

    def case(self, run: str, event: str) -> Case:
        """Freezes the decision that RUN and EVENT name."""
        call, target = select(self.calls(run), event)
        return freeze(call, target)

    @asynccontextmanager
    async def experiment(self, case: Case, stream: str) -> AsyncIterator[Experiment]:
        """Opens an experiment; its trials are written to the store when it ends, however it ends.

        Trials that were paid for earlier are written too: the process that paid may have died before it could.
        """
        async with self.engine(case) as engine:
            choices = await ChoiceSampler.open(engine, case) if self.logprobs else None
            if self.logprobs and choices is None:
                self.warn("there are no usable log-probabilities for this decision, so it is sampled")
            experiment = Experiment(
                case=case, engine=engine, stream=stream, progress=self.progress, choices=choices,
                record=lambda trials: self.write(trial_spans(trials)), cap=self.per_experiment,
            )  # fmt: skip
            try:
                yield experiment
            finally:
                experiment.flush()
                for warning in experiment.drift.warnings():
                    self.warn(warning)

    @asynccontextmanager
    async def engine(self, case: Case) -> AsyncIterator[ReplayEngine]:
        """Opens the engine that answers a case's replays."""
        provider = self.model.open(case)
        replies = SqliteReplyStore(None if self.no_cache else self.reply_file, max_age_s=self.max_age_s)
        try:
            yield ReplayEngine(
                provider, replies, self.budget, concurrency=self.concurrency, limits=self.model.limits(case),
                prices=self.prices, keep_errors=isinstance(case.target, ErrorTarget),
            )  # fmt: skip
        finally:
            await provider.aclose()
            replies.close()

    @property
    def is_metered(self) -> bool:
        """Whether replays may cost money: a function of the user's own does not."""
        return not self.model.model_fn

    def estimate(self, case: Case, calls: int) -> Estimate:
        """Returns what so many replays of a case are expected to take; known replies are not taken into account."""
        url = "" if self.model.model_fn else self.model.target(case).url
        return estimate(case.request, calls, url, self.prices)

    def keep(self, claims: Iterable[Claim]) -> None:
        """Writes claims to the store, as spans in the agent's trace."""
        now = time.time_ns()
        self.write([claim_span(c, time_ns=now) for c in claims])

    def has_kept(self, claims: Iterable[Claim]) -> bool:
        """Tells whether the store holds all of these claims, about the same decisions, whatever their figures."""
        wanted = {(claim.id, claim.case.origin.span_id) for claim in claims}
        query = "SELECT claim_id, decision_span_id FROM claims WHERE list_contains(?, claim_id)"
        return wanted <= set(run_query(self.store, query, [[claim_id for claim_id, _ in wanted]]).rows)

    def write(self, spans: Sequence[Span]) -> None:
        """Writes spans of whyspan's own to the store."""
        self.store.write(spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What a user may limit besides the number of calls, and which earlier replies count."""

    tokens: int | None = None
    cost_usd: float | None = None
    no_cache: bool = False
    max_age_s: float | None = None


NO_CAPS = Caps()


@contextmanager
def open_desk(
    *,
    store: str | None = None,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    budget: int | None = None,
    caps: Caps = NO_CAPS,
    overlay: Overlay = NO_OVERLAYS.given,
    concurrency: int | None = None,
    progress: Progress = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[Desk]:
    """Opens a store and a model; what is not given comes from the settings.

    Raises UsageError when no model is configured, StoreError when there is no store.
    """
    settings = load_settings({"store": store})
    model = choose_model(model_fn=model_fn, base_url=base_url or ("" if model_fn else settings.base_url))
    allowed = Budget(settings.budget if budget is None else budget, tokens=caps.tokens, cost_usd=caps.cost_usd)
    model.policy.limits.cap(allowed)
    with Store.open(settings.store) as opened:
        yield Desk(
            store=opened,
            model=model,
            budget=allowed,
            concurrency=concurrency or settings.concurrency,
            progress=progress,
            prices=read_prices(load_section("prices")),
            overlays=read_overlays(load_section("overlays"), overlay),
            warn=warn,
            no_cache=caps.no_cache,
            max_age_s=caps.max_age_s,
        )
