"""What tokens cost at an endpoint: the user's price, or the price list of genai-prices by the endpoint's URL.

A model or an endpoint that is on neither has no price, which is never a price of zero: the same model name may be
served by anybody.
"""

from functools import lru_cache

from ...ingest.calls import Usage
from ...ingest.prices import Price, PriceList

NO_PRICES = PriceList(own={})
_MILLION = 1_000_000


def price_of(prices: PriceList, model: str, url: str) -> Price | None:
    """Returns the price of a model at an endpoint; None when it is not known."""
    return prices.own_price(model) or _listed(model, url)


def cost_usd(prices: PriceList, usage: Usage, model: str, url: str) -> float | None:
    """Returns what a call cost: what the provider says, else by its price; None when neither tells."""
    if usage.cost_usd is not None:
        return usage.cost_usd
    price = price_of(prices, model, url)
    return None if price is None else price.cost_usd(usage)


def is_free(endpoint: str) -> bool:
    """Whether asking an endpoint costs nothing as far as whyspan can know: a function of the user's own."""
    return endpoint.startswith(("function:", "why:"))


def has_listed_prices(url: str) -> bool:
    """Whether the public list has prices for the models of an endpoint."""
    if not url.startswith("https://"):
        return False
    from genai_prices.data_snapshot import get_snapshot  # Half a second: it brings pydantic.

    try:
        get_snapshot().find_provider(None, None, url)
    except LookupError:
        return False
    return True


@lru_cache(maxsize=256)
def _listed(model: str, url: str) -> Price | None:
    if not url.startswith("https://"):
        return None
    import genai_prices  # Half a second: it brings pydantic.

    units = [
        genai_prices.Usage(input_tokens=_MILLION),
        genai_prices.Usage(input_tokens=_MILLION, cache_read_tokens=_MILLION),
        genai_prices.Usage(output_tokens=_MILLION),
    ]
    try:
        read, cached, written = (
            float(genai_prices.calc_price(u, model_ref=model, provider_api_url=url).total_price) for u in units
        )
    except (LookupError, ValueError):
        return None
    return Price(input=read, cached_input=cached, output=written)
