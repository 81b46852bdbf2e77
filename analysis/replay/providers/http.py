"""What all HTTP providers share: one POST, and what its failures mean. An API adds how it is written and read."""

import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import httpx

from ....ingest.calls import Body, Json, ModelReply
from ....ingest.errors import UpstreamError
from ....ingest.remote import retry_after_s
from ...canonical import digest, encode_json
from ..completion import Completion

CONNECT_TIMEOUT_S = 10.0
TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
HINTS = {
    401: "is the key right for that endpoint? keys come from the environment only",
    403: "the key may not use that model",
    404: "does the endpoint serve that model? the URL is the root that the API's own paths follow",
    413: "the request is larger than the endpoint takes",
}
CONTEXT_WORDS = ("context length", "context_length", "too long", "maximum context", "exceed_context", "too many tokens")


class Wire(Protocol):
    """How one API is spoken."""

    samples: int
    """Samples that one request can ask for."""

    def path(self, request: Body) -> str:
        """Returns what follows the endpoint's URL."""
        ...

    def encode(self, request: Body, count: int) -> Body:
        """Returns the body to send for so many samples, without what says only how a reply travels."""
        ...

    def decode(self, value: Any) -> list[Completion]:
        """Reads a reply; ValueError, KeyError, TypeError, IndexError or AttributeError when it is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where requests go, and what is added to them on the way."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Key included; never logged, never part of an identity."""
    query: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    """Asked in the place of the recorded model, where an endpoint has its own names."""
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Fields added to every body, such as a pinned provider behind a router."""
    timeout_s: float = 120.0
    auth: httpx.Auth | None = None

    @property
    def identity(self) -> str:
        """The URL, and a digest of what is added to requests."""
        added = [self.model, dict(self.extra), dict(self.query)]
        return self.url + (f"#{digest(added)[:12]}" if any(added) else "")


class HttpProvider:
    """Asks an endpoint over HTTP, several samples a request where API and server can."""

    def __init__(self, wire: Wire, target: Target, *, client: httpx.AsyncClient | None = None) -> None:
        self.endpoint = target.identity
        self.batch = wire.samples
        self._wire = wire
        self._target = target
        self._client = client or httpx.AsyncClient(
            timeout=httpx.Timeout(target.timeout_s, connect=CONNECT_TIMEOUT_S),
            headers=dict(target.headers),
            auth=target.auth,
            verify=_tls(),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=256),
        )

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Returns up to `count` samples; a server that ignores or refuses several is asked for one from then on."""
        asked = {**request, **self._target.extra, **({"model": self._target.model} if self._target.model else {})}
        wanted = min(count, self.batch)
        response = await self._post(asked, wanted)
        if wanted > 1 and response.status_code in {400, 422}:
            self.batch, wanted = 1, 1
            response = await self._post(asked, 1)
        completions = self._read(response)[:wanted]
        if len(completions) < wanted:
            self.batch = 1
        return completions

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _post(self, request: Body, count: int) -> httpx.Response:
        url = self._target.url
        try:
            return await self._client.post(
                f"{url.rstrip('/')}{self._wire.path(request)}",
                content=encode_json(self._wire.encode(request, count)),
                headers={"content-type": "application/json"},
                params=self._target.query or None,
            )
        except httpx.ConnectTimeout as error:
            raise UpstreamError(f"{url} does not answer", transient=True) from error
        except httpx.TimeoutException as error:
            raise UpstreamError(f"{url} did not answer in time", transient=True) from error
        except httpx.ConnectError as error:
            raise UpstreamError(
                f"no model answers at {url}: {error}",
                hint="is the server running? `--base-url` says where to send replays",
            ) from error
        except httpx.TransportError as error:
            raise UpstreamError(f"{url} cut the connection: {error}", transient=True) from error
        except httpx.InvalidURL as error:
            raise UpstreamError(f"{url} is not a URL: {error}") from error

    def _read(self, response: httpx.Response) -> list[Completion]:
        if response.status_code != httpx.codes.OK:
            filtered = _content_filter(response)
            if filtered:
                return [filtered]
            raise failure(self._target.url, response)
        try:
            return self._wire.decode(json.loads(response.content))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise UpstreamError(
                f"{self._target.url} answered something that is no reply: {response.text[:200]!r}",
                hint="the URL must be the root that the API's own paths follow",
                transient=True,
            ) from error


@cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than many a call."""
    return httpx.create_ssl_context()


def failure(url: str, response: httpx.Response) -> UpstreamError:
    """Returns what an error answer means: whether trying again may help, after how long, and what to do."""
    status, message = response.status_code, message_of(response)
    hint = HINTS.get(status)
    if any(words in message.lower() for words in CONTEXT_WORDS):
        hint = "the context is longer than the model takes; another model may be asked by --model"
    return UpstreamError(
        f"{url} answered {status}: {message}",
        hint=hint,
        transient=status in TRANSIENT_STATUS and not _is_out_of_credit(response),
        retry_after_s=retry_after_s(response.headers),
    )


def message_of(response: httpx.Response) -> str:
    """Returns what an error answer says, in whatever form the API has."""
    try:
        value = response.json()
    except ValueError:
        return response.text[:300]
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return response.text[:300]
    error = value.get("error", value)
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or value.get("Message") or response.text)[:300]


def _is_out_of_credit(response: httpx.Response) -> bool:
    # OpenAI answers 429 both to haste, which passes, and to an empty account, which does not.
    return "insufficient_quota" in response.text


def _content_filter(response: httpx.Response) -> Completion | None:
    """A prompt that a filter refuses (Azure OpenAI answers 400) is an outcome, not a failure."""
    if response.status_code != httpx.codes.BAD_REQUEST or "content_filter" not in response.text:
        return None
    return Completion(reply=ModelReply(refusal=message_of(response), finish_reason="content_filter"))
