"""`whyspan.why`: the command `whyspan why`, for Python."""

import asyncio
from collections.abc import Callable
from typing import Any

from ..desk import open_desk
from .chain import DEPTH, find_chain
from .problem import Options
from .why import WhyReport


def why(
    run: str = "last",
    event: str = "last",
    *,
    store: str | None = None,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    budget: int | None = None,
    full: bool = False,
    thorough: bool = False,
    logprobs: bool = False,
    guess: bool = False,
    depth: int = DEPTH,
) -> WhyReport:
    """Finds by experiment what caused a decision: `whyspan why`, for Python.

    Args:
        run: `last`, a trace id or its beginning, or a session id.
        event: which call and outcome, such as `tool:forward_email`; see `analysis.targets`.
        store: folder of the store; by default as on the command line.
        model_fn: a function (or `FILE:FUNCTION`) that answers a request in OpenAI chat form.
        base_url: an OpenAI-compatible endpoint, when no function is given.
        budget: replays to pay for at most.
        full: find every cause, not only enough for a headline.
        thorough: spend more before saying that there is no cause.
        logprobs: ask for probabilities, one call a removal, where the request forces a choice.
        guess: ask the model once which piece it was, and look there first.
        depth: how many links back to follow the cause; 0 for the cause alone.

    Raises WhyspanError, with a hint, for whatever is missing.
    """
    with open_desk(store=store, model_fn=model_fn, base_url=base_url, budget=budget) as desk:
        desk.logprobs = logprobs
        case = desk.case(run, event)
        return asyncio.run(find_chain(desk, case, Options(full=full, thorough=thorough), depth=depth, ask=guess))
