"""Rate limits of one endpoint: requests and tokens a minute, pauses that it asked for, and giving up on a dead one."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from ...ingest.errors import UpstreamError

BREAK_AFTER = 12
"""Failures in a row, over all calls in flight, after which the endpoint may count as down, …"""
BREAK_AFTER_S = 20.0
"""… once it has given no answer for so long: many calls in flight fail together when a server restarts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an endpoint allows; 0 stands for no limit."""

    requests_per_minute: int = 0
    tokens_per_minute: int = 0


@dataclass
class _Bucket:
    """A token bucket that starts with one second's worth, so that a job does not begin with a burst."""

    per_minute: int
    level: float = 0.0
    at: float = 0.0

    def wait_s(self, amount: float, now: float) -> float:
        """Takes `amount` at once and returns how long the caller has to wait until it was there."""
        rate = self.per_minute / 60
        room = max(rate, amount)
        self.level = min(room, self.level + (now - self.at) * rate) if self.at else min(room, max(rate, 1.0))
        self.at = now
        self.level -= amount
        return max(0.0, -self.level / rate)


@dataclass
class Limiter:
    """Admits requests to one endpoint at the rate it allows."""

    limits: Limits
    clock: Callable[[], float] = monotonic
    _paused_until: float = 0.0
    _failures: int = 0
    _failing_since: float = 0.0
    _requests: _Bucket = field(init=False)
    _tokens: _Bucket = field(init=False)

    def __post_init__(self) -> None:
        self._requests = _Bucket(self.limits.requests_per_minute)
        self._tokens = _Bucket(self.limits.tokens_per_minute)

    async def admit(self, tokens: int) -> None:
        """Returns when a request of about so many tokens may be sent."""
        now = self.clock()
        wait = self._paused_until - now
        if self.limits.requests_per_minute:
            wait = max(wait, self._requests.wait_s(1, now))
        if self.limits.tokens_per_minute:
            wait = max(wait, self._tokens.wait_s(tokens, now))
        while wait > 0:
            await asyncio.sleep(wait)
            wait = self._paused_until - self.clock()

    def pause(self, seconds: float) -> None:
        """Holds back every request for a while, because the endpoint asked one of them to wait."""
        self._paused_until = max(self._paused_until, self.clock() + seconds)

    def succeeded(self) -> None:
        """Notes an answer."""
        self._failures = 0

    def failed(self, error: UpstreamError) -> None:
        """Notes a transient failure; raises it as a lasting one when the endpoint has given nothing else for long.

        An endpoint that says when to come back is alive, so that does not count.
        """
        if error.retry_after_s is not None:
            return
        now = self.clock()
        self._failing_since = self._failing_since if self._failures else now
        self._failures += 1
        if self._failures >= BREAK_AFTER and now - self._failing_since >= BREAK_AFTER_S:
            raise UpstreamError(
                f"{self._failures} requests in a row failed, the last with: {error.message}",
                hint="the same command goes on from here; what was answered is kept",
                transient=True,
            ) from error
