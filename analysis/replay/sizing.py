"""How much a request can take at most, before it is sent: what budgets reserve and rate limits count.

A token is at least one byte of text, so the size of the body in bytes bounds its tokens. Once an endpoint has counted
some requests, the bound follows the largest ratio seen, with a margin: a removal can make text denser, not much so.
"""

from dataclasses import dataclass
from typing import Any

from ...ingest.calls import Body
from ..canonical import encode_json
from ..parameters import HOLDERS

MARGIN = 1.5
IMAGE_TOKENS = 4_000
"""Bound for one inline image, audio clip or file; their base64 text says nothing about their tokens."""
BLOB_BYTES = 2_000
"""A string of a base64 alphabet longer than this is such an inline file."""
MAX_OUTPUT = 16_384
"""Bound for a reply to a request that sets no limit of its own. A longer reply is counted in full when it comes."""
LIMIT_NAMES = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict",
)  # fmt: skip


@dataclass
class Sizing:
    """Bounds the tokens of requests to one endpoint; learns from what it counted."""

    _ratio: float = 0.0
    """Largest number of tokens a byte that was seen; 0 before anything was."""

    def input_bound(self, body: Body) -> int:
        """Returns the most tokens that reading the request takes."""
        size, blobs = _size(body)
        ratio = min(1.0, self._ratio * MARGIN) if self._ratio else 1.0
        return int(size * ratio) + blobs * IMAGE_TOKENS + 1

    def learn(self, body: Body, input_tokens: int) -> None:
        """Notes how many tokens the endpoint counted for a request."""
        size, blobs = _size(body)
        if not blobs:
            self._ratio = max(self._ratio, input_tokens / size)


def output_bound(body: Body) -> int:
    """Returns the most tokens that one reply takes, by the request's own limit where it has one."""
    places = [body, *(body[h] for h in HOLDERS.values() if isinstance(body.get(h), dict))]
    limits = [p[n] for p in places for n in LIMIT_NAMES if isinstance(p.get(n), int) and p[n] > 0]
    return min(limits) if limits else MAX_OUTPUT


def _size(body: Body) -> tuple[int, int]:
    """Returns bytes of JSON without inline files, and the number of those."""
    blobs = list(_blobs(body))
    return len(encode_json(body)) - sum(map(len, blobs)), len(blobs)


def _blobs(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > BLOB_BYTES and " " not in value[:BLOB_BYTES] and "\n" not in value[:BLOB_BYTES]:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _blobs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _blobs(inner)
