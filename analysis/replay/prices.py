"""What tokens cost at an endpoint: the price list of genai-prices, by the endpoint's URL.

A model or an endpoint that is not on the list has no price, which is never a price of zero.
"""

from functools import lru_cache

import genai_prices

from ...ingest.calls import Usage


@lru_cache(maxsize=256)
def token_prices_usd(model: str, url: str) -> tuple[float, float, float] | None:
    """Returns the US dollars for a token read, read from the provider's cache, and written; None when unknown."""
    try:
        units = [
            genai_prices.Usage(input_tokens=1_000),
            genai_prices.Usage(input_tokens=1_000, cache_read_tokens=1_000),
            genai_prices.Usage(output_tokens=1_000),
        ]
        prices = [genai_prices.calc_price(u, model_ref=model, provider_api_url=url).total_price for u in units]
    except (LookupError, ValueError):
        return None
    read, cached, written = (float(p) / 1_000 for p in prices)
    return read, cached, written


def cost_usd(usage: Usage, model: str, url: str) -> float | None:
    """Returns what a call cost: what the provider says, else by the price list; None when neither tells."""
    if usage.cost_usd is not None:
        return usage.cost_usd
    prices = token_prices_usd(model, url)
    if prices is None or usage.input_tokens is None:
        return None
    cached = min(usage.cached_input_tokens or 0, usage.input_tokens)
    read, from_cache, written = prices
    return (usage.input_tokens - cached) * read + cached * from_cache + (usage.output_tokens or 0) * written
