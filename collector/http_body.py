"""Request bodies: read with a cap, inflated with a cap. A sender must not be able to make a small request big."""

import zlib

from .refusals import Reason, Refusal

MAX_BODY_BYTES = 32 << 20
"""As sent."""
MAX_INFLATED_BYTES = 64 << 20
"""After decompression."""
_WINDOW_BITS = {"gzip": 31, "deflate": 15}


def inflate(body: bytes, encoding: str, limit: int = MAX_INFLATED_BYTES) -> bytes:
    """Returns the body without its content encoding; raises Refusal for a bomb, a broken or an unknown one."""
    if encoding in ("", "identity"):
        return body
    if encoding not in _WINDOW_BITS:
        raise Refusal(Reason.UNSUPPORTED, f"content encoding {encoding!r} is not supported; use gzip or deflate")
    try:
        return _inflate_members(body, _WINDOW_BITS[encoding], limit)
    except zlib.error as error:
        raise Refusal(Reason.MALFORMED, f"the body is not {encoding}: {error}") from error


def _inflate_members(body: bytes, window_bits: int, limit: int) -> bytes:
    """Decompresses all members: gzip bodies may be several streams in a row, and zlib stops after the first."""
    parts: list[bytes] = []
    room = limit
    while body:
        member = zlib.decompressobj(window_bits)
        part = member.decompress(body, room + 1)
        room -= len(part)
        if room < 0:
            raise Refusal(Reason.TOO_LARGE, f"the body inflates to more than {limit} bytes")
        if not member.eof:
            raise Refusal(Reason.MALFORMED, "the compressed body ends too early")
        parts.append(part)
        body = member.unused_data
    return b"".join(parts)
