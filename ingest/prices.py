"""What a recorded call cost: the instrumentation's own figure, the user's price, or the list of genai-prices.

A model that is on no list has no cost, which is never a cost of zero.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from .calls import ModelCall, Usage
from .errors import ConfigError

_MILLION = 1_000_000
_FIELDS = ("input", "cached_input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """For input read from the provider's cache; as `input` when not given."""

    def cost_usd(self, usage: Usage) -> float | None:
        """Returns the cost of a call; None when its tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_input_tokens or 0, usage.input_tokens)
        from_cache = self.input if self.cached_input is None else self.cached_input
        dollars = (usage.input_tokens - cached) * self.input + cached * from_cache + usage.output_tokens * self.output
        return dollars / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The user's prices, the most exact pattern first, over the public ones."""

    own: Mapping[str, Price]
    """Model name, or pattern with `*` → price."""

    def cost_usd(self, usage: Usage, *, model: str, provider: str = "", at_ns: int | None = None) -> float | None:
        """Returns what a call cost; None when neither the instrumentation nor a list tells.

        `at_ns` is the Unix time of the call: prices change.
        """
        if usage.cost_usd is not None:
            return usage.cost_usd
        own = self.own_price(model)
        return own.cost_usd(usage) if own is not None else _listed_cost_usd(usage, model, provider, at_ns)

    def own_price(self, model: str) -> Price | None:
        """Returns the user's price of a model; None when the user gives none."""
        matching = [pattern for pattern in self.own if fnmatchcase(model, pattern)]
        return self.own[max(matching, key=len)] if matching else None

    def with_costs(self, calls: Iterable[ModelCall]) -> Iterator[ModelCall]:
        """Yields the calls with their cost, where it is known."""
        for call in calls:
            # The model that answered is the one that is paid for, and its name is the more exact one.
            names = [*(reply.model for reply in call.replies[:1] if reply.model), call.request_model]
            costs = (
                self.cost_usd(call.usage, model=name, provider=call.provider, at_ns=call.start_ns) for name in names
            )
            cost = next((c for c in costs if c is not None), None)
            yield call if cost is None else replace(call, usage=replace(call.usage, cost_usd=cost))


def _listed_cost_usd(usage: Usage, model: str, provider: str, at_ns: int | None) -> float | None:
    if not model or usage.input_tokens is None or usage.output_tokens is None:
        return None
    import genai_prices  # Half a second: it brings pydantic.

    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=min(usage.cached_input_tokens or 0, usage.input_tokens),
    )
    when = datetime.fromtimestamp(at_ns / 1e9, UTC) if at_ns is not None else None
    for provider_id in dict.fromkeys((_provider_id(provider), None)):
        try:
            price = genai_prices.calc_price(
                counted, model_ref=model, provider_id=provider_id, genai_request_timestamp=when
            )
        except (LookupError, ValueError):
            continue
        return float(price.total_price)
    return None


def _provider_id(provider: str) -> str | None:
    """Returns the list's name for a provider as instrumentations write it, e.g. `gcp.gemini`, `openai.chat`."""
    words = provider.lower().replace("_", ".").replace("-", ".").split(".")
    known = {"openai": "openai", "anthropic": "anthropic", "aws": "aws", "bedrock": "aws", "gemini": "google"}
    return next((known[word] for word in words if word in known), None)


def read_prices(section: Mapping[str, Any]) -> PriceList:
    """Returns the prices of the `[prices]` section: `"model*" = {input = 2.5, output = 10, cached_input = 1.25}`.

    Raises ConfigError for a price without input or output, or with a value that is not a number.
    """
    own: dict[str, Price] = {}
    for model, fields in section.items():
        if not isinstance(fields, Mapping) or not {"input", "output"} <= set(fields) <= set(_FIELDS):
            raise ConfigError(
                f"the price of {model!r} needs input and output, and may have cached_input",
                hint=f'[prices]\n"{model}" = {{ input = 2.5, output = 10 }}   # US dollars for a million tokens',
            )
        for name, value in fields.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ConfigError(f"the price of {model!r}: {name} must be a number of US dollars, not {value!r}")
        own[model] = Price(**{name: float(value) for name, value in fields.items()})
    return PriceList(own=own)
