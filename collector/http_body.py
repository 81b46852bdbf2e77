"""Request bodies: inflated with a cap. A sender must not be able to make a small request big."""

import zlib

import zstandard

from .refusals import Reason, Refusal

_ZLIB_WINDOW = {"gzip": 31, "deflate": 15}
_CHUNK = 1 << 20


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """Returns the body without its content encoding; raises Refusal for a bomb, a broken or an unknown one."""
    try:
        if encoding in ("", "identity"):
            inflated = body
        elif encoding in _ZLIB_WINDOW:
            inflated = _inflate_zlib(body, _ZLIB_WINDOW[encoding], limit)
        elif encoding == "zstd":
            inflated = _inflate_zstd(body, limit)
        else:
            raise Refusal(Reason.UNSUPPORTED, f"content encoding {encoding!r}: use gzip, deflate, zstd or none")
    except (zlib.error, zstandard.ZstdError) as error:
        raise Refusal(Reason.MALFORMED, f"the body is not {encoding}: {error}") from error
    if len(inflated) > limit:
        raise _bomb(limit)
    return inflated


def _inflate_zlib(body: bytes, window_bits: int, limit: int) -> bytes:
    """Decompresses all members: gzip bodies may be several streams in a row, and zlib stops after the first."""
    parts: list[bytes] = []
    room = limit
    while body:
        member = zlib.decompressobj(window_bits)
        part = member.decompress(body, room + 1)
        room -= len(part)
        if room < 0:
            raise _bomb(limit)
        if not member.eof:
            raise Refusal(Reason.MALFORMED, "the compressed body ends too early")
        parts.append(part)
        body = member.unused_data
    return b"".join(parts)


def _inflate_zstd(body: bytes, limit: int) -> bytes:
    """Decompresses all frames piece by piece: a frame may lie about its size, and one-shot decoders believe it."""
    parts: list[bytes] = []
    room = limit
    while body:
        frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        for start in range(0, len(body), _CHUNK):
            part = frame.decompress(body[start : start + _CHUNK])
            room -= len(part)
            if room < 0:
                raise _bomb(limit)
            parts.append(part)
            if frame.eof:
                break
        if not frame.eof:
            raise Refusal(Reason.MALFORMED, "the compressed body ends too early")
        body = frame.unused_data + body[start + _CHUNK :]
    return b"".join(parts)


def _bomb(limit: int) -> Refusal:
    return Refusal(Reason.TOO_LARGE, f"the body inflates to more than {limit} bytes")
