"""What replays are expected to take, told before they are made. Budgets rely on bounds instead, see `sizing`."""

from dataclasses import dataclass

from ...ingest.calls import Body, Usage
from ...ingest.prices import PriceList
from ..canonical import encode_json
from .prices import price_of
from .sizing import output_bound

BYTES_PER_TOKEN = 4.0
"""Of JSON with English text in it; other scripts take up to twice as many tokens."""
USUAL_OUTPUT = 300
"""Tokens of a reply, where the request allows so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Calls, tokens and money; money is None when the price is not known."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None

    def __add__(self, more: "Estimate") -> "Estimate":
        costs = (self.cost_usd, more.cost_usd)
        return Estimate(
            calls=self.calls + more.calls,
            input_tokens=self.input_tokens + more.input_tokens,
            output_tokens=self.output_tokens + more.output_tokens,
            cost_usd=None if None in costs else sum(c for c in costs if c is not None),
        )


def estimate(request: Body, calls: int, url: str, prices: PriceList) -> Estimate:
    """Returns what so many samples of a request are expected to take at an endpoint."""
    read = round(len(encode_json(request)) / BYTES_PER_TOKEN) * calls
    written = min(USUAL_OUTPUT, output_bound(request)) * calls
    price = price_of(prices, str(request.get("model", "")), url)
    cost = None if price is None else price.cost_usd(Usage(input_tokens=read, output_tokens=written))
    return Estimate(calls=calls, input_tokens=read, output_tokens=written, cost_usd=cost)
