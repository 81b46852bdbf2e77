"""JSON over HTTP with another back end: one identity, patience with limits and failures, errors in words.

Importers and write-back share it. Only what may succeed later is tried again: no connection, 408, 409, 425, 429 and
5xx. `Retry-After` is obeyed up to a cap; without it the pause doubles, with jitter.
"""

import logging
import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

from .errors import ConfigError, UpstreamError

logger = logging.getLogger(__name__)

_TRANSIENT = frozenset({408, 409, 425, 429})
_EXCERPT = 200

Params = Mapping[str, str | int | list[str]]


class AnsweredError(UpstreamError):
    """The server answered, and not with what was asked for."""

    def __init__(self, message: str, *, status: int, transient: bool = False, retry_after_s: float | None = None):
        super().__init__(message, transient=transient, retry_after_s=retry_after_s)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to keep trying."""

    attempts: int = 6
    first_pause_s: float = 0.5
    longest_pause_s: float = 60.0
    """Also the cap for what a server may ask for by `Retry-After`."""
    sleep: Callable[[float], None] = time.sleep

    def pause_s(self, attempt: int, error: UpstreamError) -> float:
        """Returns how long to wait after a failed attempt (from 0)."""
        if error.retry_after_s is not None:
            # A little more than asked, spread out: many clients told the same must not come back together.
            return min(self.longest_pause_s, error.retry_after_s) + random.uniform(0, 0.25)
        return min(self.longest_pause_s, self.first_pause_s * 2.0**attempt) * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where a back end is and who asks."""

    base_url: str
    user: str = ""
    password: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    keys_hint: str = ""
    """Which variables hold the keys, for the error when they are refused."""


class Remote:
    """A connection to one back end."""

    def __init__(self, account: Account, *, patience: Patience | None = None, timeout_s: float = 60.0) -> None:
        self._account = account
        self._patience = patience or Patience()
        auth = httpx.BasicAuth(account.user, account.password) if account.user else None
        headers = {"user-agent": "whyspan", **account.headers}
        try:
            httpx.URL(account.base_url)
        except httpx.InvalidURL as error:
            raise ConfigError(f"{account.base_url!r} is not a URL: {error}") from error
        self._client = httpx.Client(auth=auth, headers=headers, timeout=timeout_s)

    @property
    def base_url(self) -> str:
        """Where the back end is."""
        return self._account.base_url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def get(self, path: str, params: Params | None = None) -> Any:
        """Returns the parsed JSON of a GET.

        Raises ConfigError for refused keys, AnsweredError for any other answer but 2xx, UpstreamError without one.
        """
        return _parsed(self.send("GET", path, params=params), path)

    def download(self, url: str) -> bytes:
        """Returns the bytes behind a signed URL, which must not see our keys."""
        where = url.partition("?")[0]
        return self._patiently(lambda: _answer(httpx.stream("GET", url, timeout=60.0), f"GET {where}"))

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Returns the body of the answer; errors as for `get`."""

        # Put together here: the client's own joining ends a URL without a path in a slash.
        where = f"{self.base_url}{path}"

        def ask() -> bytes:
            request = self._client.stream(method, where, params=params, content=body, headers=headers)
            return _answer(request, f"{method} {where}")

        try:
            return self._patiently(ask)
        except AnsweredError as error:
            if error.status in (401, 403):
                raise ConfigError(f"{self.base_url} refuses the keys", hint=self._account.keys_hint or None) from error
            raise

    def _patiently(self, call: Callable[[], bytes]) -> bytes:
        for attempt in range(self._patience.attempts - 1):
            try:
                return call()
            except UpstreamError as error:
                if not error.transient:
                    raise
                pause = self._patience.pause_s(attempt, error)
                logger.info("%s; trying again in %.1f s", error.message, pause)
                self._patience.sleep(pause)
        return call()


def _answer(request: AbstractContextManager[httpx.Response], what: str) -> bytes:
    try:
        with request as response:
            if response.is_success:
                # Not `content`: a response is part of a cycle, and pages that it held would pile up.
                return b"".join(response.iter_bytes())
            response.read()
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise UpstreamError(f"{what.partition(' ')[2]} cannot be reached: {error}", transient=True) from error
    status = response.status_code
    raise AnsweredError(
        f"{what} was answered by {status}: {response.text[:_EXCERPT]}",
        status=status,
        transient=status in _TRANSIENT or status >= 500,
        retry_after_s=retry_after_s(response.headers),
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Returns how long an answer asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers["retry-after"]
    except (KeyError, ValueError):
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _parsed(body: bytes, path: str) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        excerpt = body[:_EXCERPT].decode("utf-8", "replace")
        raise AnsweredError(f"{path} was not answered by JSON: {excerpt}", status=200) from error
