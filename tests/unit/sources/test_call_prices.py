from dataclasses import replace

import pytest
from captures import FOLDER, rebuilt

from whyspan.ingest.calls import Usage
from whyspan.ingest.errors import ConfigError
from whyspan.ingest.prices import read_prices

USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_input_tokens=400_000)


def test_own_price_counts_cached_input_apart() -> None:
    prices = read_prices({"house-model": {"input": 2, "output": 10, "cached_input": 0.5}})
    assert prices.cost_usd(USAGE, model="house-model") == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)


def test_the_most_exact_pattern_wins() -> None:
    prices = read_prices({"house*": {"input": 1, "output": 1}, "house-xl*": {"input": 3, "output": 3}})
    assert prices.cost_usd(Usage(input_tokens=1_000_000, output_tokens=0), model="house-xl-2") == pytest.approx(3)


def test_what_the_instrumentation_says_wins() -> None:
    assert read_prices({}).cost_usd(replace(USAGE, cost_usd=0.25), model="gpt-4o") == 0.25


def test_public_price_is_found_by_model_and_provider() -> None:
    cost = read_prices({}).cost_usd(Usage(input_tokens=1_000, output_tokens=100), model="gpt-4o", provider="openai")
    assert cost is not None
    assert cost > 0


def test_an_unknown_model_has_no_cost() -> None:
    assert read_prices({}).cost_usd(USAGE, model="in-house-7b") is None


def test_calls_get_their_cost() -> None:
    prices = read_prices({"gpt-4o*": {"input": 1, "output": 2}})
    (call,) = prices.with_costs(rebuilt(FOLDER / "openinference" / "parts"))
    assert call.usage.cost_usd == pytest.approx((101 + 2 * 20) / 1_000_000)


@pytest.mark.parametrize("price", [{"input": 1}, {"input": "1", "output": 2}, {"input": 1, "output": -2}, 3])
def test_a_wrong_price_is_refused(price: object) -> None:
    with pytest.raises(ConfigError, match="price of 'm'"):
        read_prices({"m": price})
