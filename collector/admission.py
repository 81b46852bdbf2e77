"""Whether there is room for a request: decided before its body is read, so that overload costs no memory.

What has been acknowledged is never dropped; what cannot be stored soon is answered with "try again later".
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .config import Limits
from .refusals import Reason, Refusal

_MIN_RETRY_S, _MAX_RETRY_S = 1, 30
_DISK_CHECK_S = 1.0


class Admission:
    """Counts what is in flight and refuses what would be too much."""

    def __init__(self, limits: Limits, store: Path, backlog: Callable[[], int]) -> None:
        self.limits = limits
        self._store = store
        self._backlog = backlog
        self._bytes = 0
        self._requests: Counter[str] = Counter()
        self._disk = (0.0, False)

    @contextmanager
    def request(self, client: str, announced_bytes: int) -> Iterator[None]:
        """Holds room for a request of a client while the block runs; raises Refusal when there is none."""
        self._check(client, announced_bytes)
        self._bytes += announced_bytes
        self._requests[client] += 1
        try:
            yield
        finally:
            self._bytes -= announced_bytes
            self._requests[client] -= 1
            if not self._requests[client]:
                del self._requests[client]

    def problem(self) -> Refusal | None:
        """Returns why nothing at all is accepted at the moment, if so."""
        backlog = self._backlog()
        if backlog > self.limits.backlog_bytes:
            message = f"{backlog >> 20} MiB wait to become queryable"
            return Refusal(Reason.OVERLOADED, message, retry_after_s=_later(backlog / self.limits.backlog_bytes))
        if self._is_disk_full():
            return Refusal(Reason.DISK, "the disk of the store is nearly full", retry_after_s=_later(_MAX_RETRY_S))
        return None

    def _check(self, client: str, announced_bytes: int) -> None:
        problem = self.problem()
        if problem is not None:
            raise problem
        if self._requests[client] >= self.limits.requests_per_client:
            message = f"{client} has {self._requests[client]} requests under way"
            raise Refusal(Reason.CLIENT_QUOTA, message, retry_after_s=_later(1))
        # A request larger than the whole budget must have a chance when it comes alone.
        if self._bytes and self._bytes + announced_bytes > self.limits.in_flight_bytes:
            raise Refusal(Reason.OVERLOADED, "too much is being received at once", retry_after_s=_later(1))

    def _is_disk_full(self) -> bool:
        checked_s, is_full = self._disk
        if time.monotonic() - checked_s > _DISK_CHECK_S:
            usage = shutil.disk_usage(self._store)
            is_full = usage.free < min(self.limits.free_disk_bytes, usage.total // 20)
            self._disk = (time.monotonic(), is_full)
        return is_full


def _later(seconds: float) -> int:
    """Returns a delay with jitter, so that clients refused together do not come back together."""
    return round(min(max(seconds, _MIN_RETRY_S), _MAX_RETRY_S) * random.uniform(1.0, 1.5))
