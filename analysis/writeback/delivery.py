"""One request to another back end, exactly as it is sent, and what sends it."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from ...ingest.otlp import decode_logs, decode_traces
from .results import Result

JSON = {"content-type": "application/json"}
PROTOBUF = {"content-type": "application/x-protobuf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A request, without the keys: it may be kept and printed."""

    id: str
    """The same for the same result: what is sent again replaces what is there."""
    method: str = "POST"
    path: str
    """Path and query under the back end's base URL."""
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    body: bytes
    is_optional: bool = False
    """A back end that has no place for it is no failure."""

    @property
    def digest(self) -> str:
        """SHA-256 of what is sent."""
        return hashlib.sha256(b"\0".join((self.method.encode(), self.path.encode(), self.body))).hexdigest()

    def content(self) -> Any:
        """Returns the body for people: JSON as it is, protobuf as the spans or records in it."""
        if self.headers == JSON:
            return orjson.loads(self.body)
        decode = decode_logs if self.path.endswith("/v1/logs") else decode_traces
        return [str(item) for item in decode(self.body)]


def json_delivery(id: str, path: str, body: Mapping[str, Any]) -> Delivery:
    """Returns the POST of a JSON body."""
    return Delivery(id=id, path=path, body=orjson.dumps(body))


class Target(Protocol):
    """A back end to write to."""

    @property
    def base_url(self) -> str:
        """Where it is."""

    def deliveries(self, results: Sequence[Result]) -> list[Delivery]:
        """Returns the requests for results; nothing is sent."""

    def send(self, delivery: Delivery) -> bool:
        """Sends one; again is harmless. Returns False for an optional one that the back end has no place for.

        Raises UpstreamError when the back end does not take it.
        """

    def is_there(self, delivery: Delivery) -> bool | None:
        """Reads back what was sent; None when the back end gives nothing back."""


class OpenTarget(Protocol):
    """How a registered target is opened."""

    def __call__(self, **options: Any) -> AbstractContextManager[Target]:
        """Opens it; where it is and the keys come from the environment or the options."""
