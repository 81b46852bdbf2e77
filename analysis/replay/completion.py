"""What a provider adapter gives back, and the protocol that adapters follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...ingest.calls import Body, ModelReply, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One sampled reply."""

    reply: ModelReply
    usage: Usage = field(default_factory=Usage)
    logprobs: Sequence[Mapping[str, Any]] = ()
    """One entry a token with its alternatives, where asked for; never stored."""


class Provider(Protocol):
    """Sends a request to a model. Adapters encode and decode; retries, limits and caching belong to the engine."""

    @property
    def endpoint(self) -> str:
        """Identifies where replies come from; replies of different endpoints are never mixed."""
        ...

    @property
    def batch(self) -> int:
        """Samples that one request can give; may shrink to 1 when a server turns out to ignore the wish for more."""
        ...

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """Returns between one and `count` fresh samples; UpstreamError says whether trying again may help."""
        ...

    async def aclose(self) -> None:
        """Releases connections."""
        ...
