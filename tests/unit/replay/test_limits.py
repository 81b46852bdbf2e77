import asyncio

import pytest

from whyspan.analysis.replay.limits import BREAK_AFTER, Limiter, Limits
from whyspan.ingest.errors import UpstreamError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


BUSY = UpstreamError("connection refused", transient=True)


def test_an_endpoint_that_gives_nothing_for_long_counts_as_down() -> None:
    clock = Clock()
    limiter = Limiter(Limits(), clock)
    for _ in range(BREAK_AFTER - 1):
        limiter.failed(BUSY)
        clock.now += 2
    with pytest.raises(UpstreamError, match=f"{BREAK_AFTER} requests in a row failed") as caught:
        limiter.failed(BUSY)
    assert "goes on from here" in (caught.value.hint or "")


def test_many_calls_that_fail_together_do_not_count_as_down() -> None:
    limiter = Limiter(Limits(), Clock())
    for _ in range(100):
        limiter.failed(BUSY)


def test_an_answer_in_between_starts_the_count_anew() -> None:
    clock = Clock()
    limiter = Limiter(Limits(), clock)
    for n in range(3 * BREAK_AFTER):
        limiter.failed(BUSY)
        clock.now += 2
        if n % 5 == 0:
            limiter.succeeded()


def test_an_endpoint_that_says_when_to_come_back_is_alive() -> None:
    clock = Clock()
    limiter = Limiter(Limits(), clock)
    for _ in range(3 * BREAK_AFTER):
        limiter.failed(UpstreamError("slow down", transient=True, retry_after_s=1))
        clock.now += 5


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("limits", "tokens", "expected"),
    [
        (Limits(requests_per_minute=60), 0, [0, 1, 2, 3]),
        (Limits(tokens_per_minute=600), 10, [0, 1, 2, 3]),
        (Limits(tokens_per_minute=600), 40, [3, 7, 11, 15]),
        (Limits(), 10_000, [0, 0, 0, 0]),
    ],
)
async def test_requests_are_spread_at_the_rate_allowed(
    limits: Limits, tokens: int, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    limiter = Limiter(limits, Clock())
    for _ in expected:
        waits.append(0.0)
        await limiter.admit(tokens)
    longest = [max(waits[i : i + 2]) for i in range(len(waits)) if waits[i] == 0.0]
    assert longest == pytest.approx(expected, abs=0.01)
