import pytest

from whyspan.collector.config import MIB, Limits, read_limits
from whyspan.ingest.errors import ConfigError


def test_what_is_not_said_keeps_its_default() -> None:
    assert read_limits({}) == Limits()
    limits = read_limits({"inflated_mib": 128, "requests_per_client": 7})
    assert limits == Limits(inflated_bytes=128 * MIB, requests_per_client=7)


@pytest.mark.parametrize("value", [0, -1, 1.5, "1", True])
def test_a_limit_is_a_whole_number_above_zero(value: object) -> None:
    with pytest.raises(ConfigError, match="body_mib must be a whole number"):
        read_limits({"body_mib": value})


def test_an_unknown_limit_names_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="unknown key 'infalted_mib'") as caught:
        read_limits({"infalted_mib": 1})
    assert caught.value.hint == "did you mean 'inflated_mib'?"
