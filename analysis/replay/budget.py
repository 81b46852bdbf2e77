"""The caps on what one command may ask of a model: calls, tokens, money. Work reserves the most it can take before it
asks, so that no cap is ever passed, however many calls are in flight; what it did not take is given back.
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from ...ingest.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Tokens (read and written) and money of some calls."""

    tokens: int = 0
    cost_usd: float = 0.0


class Budget:
    """Counts what is asked against the caps; safe within one event loop."""

    def __init__(self, calls: int, *, tokens: int | None = None, cost_usd: float | None = None) -> None:
        for cap, unit in ((calls, "calls"), (tokens, "tokens"), (cost_usd, "US dollars")):
            if cap is not None and not cap >= 0:
                raise UsageError(f"a budget cannot be {cap} {unit}")
        self.cap = calls
        self.token_cap = tokens
        self.cost_cap_usd = cost_usd
        self.reserved = 0
        self.spent = 0
        """Calls that were answered."""
        self.tokens = 0
        self.cost_usd = 0.0
        self.is_exhausted = False
        """Something was refused: the work that asked has ended early."""
        self._held_tokens = 0
        self._held_usd = 0.0
        self._holds = 0
        self._waiting: deque[tuple[Spend, asyncio.Future[bool]]] = deque()

    @property
    def left(self) -> int:
        """Calls that can still be reserved."""
        return self.cap - self.reserved

    @property
    def needs_estimates(self) -> bool:
        """Whether there is a cap other than calls, so that work must say beforehand what it may take."""
        return self.token_cap is not None or self.cost_cap_usd is not None

    def reserve(self, calls: int) -> int:
        """Grants up to `calls`, fewer (or none) near the cap."""
        granted = min(calls, self.left)
        self.reserved += granted
        self.is_exhausted |= granted < calls
        return granted

    def settle(self, reserved: int, answered: int) -> None:
        """Books the answered ones of a reservation and gives the rest back."""
        self.spent += answered
        self.reserved -= reserved - answered

    async def hold(self, most: Spend) -> bool:
        """Sets aside the most that a request may take, waiting for others in flight where it would be too much.

        Returns False when it would pass a cap even with nothing else in flight.
        """
        if not self._waiting and self._fits(most):
            self._take(most)
            return True
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((most, waiter))
        self._grant()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.result():
                self.book(most, Spend())
            raise

    def book(self, most: Spend, taken: Spend) -> None:
        """Ends a hold: what was taken counts, the rest is given back."""
        self._holds -= 1
        self._held_tokens -= most.tokens
        self._held_usd -= most.cost_usd
        self.add(taken)
        self._grant()

    def add(self, taken: Spend) -> None:
        """Counts tokens and money that no hold was made for."""
        self.tokens += taken.tokens
        self.cost_usd += taken.cost_usd

    def _grant(self) -> None:
        """Answers those who wait, in their order, as far as what was given back reaches."""
        while self._waiting:
            most, waiter = self._waiting[0]
            if not waiter.done():
                if self._fits(most):
                    self._take(most)
                    waiter.set_result(True)
                elif self._holds:
                    return
                else:
                    self.is_exhausted = True
                    waiter.set_result(False)
            self._waiting.popleft()

    def _take(self, most: Spend) -> None:
        self._holds += 1
        self._held_tokens += most.tokens
        self._held_usd += most.cost_usd

    def _fits(self, most: Spend) -> bool:
        tokens = self.token_cap is None or self.tokens + self._held_tokens + most.tokens <= self.token_cap
        money = self.cost_cap_usd is None or self.cost_usd + self._held_usd + most.cost_usd <= self.cost_cap_usd
        return tokens and money
