import gzip
import zlib

import pytest
import zstandard

from whyspan.collector.http_body import inflate
from whyspan.collector.refusals import Reason, Refusal

LIMIT = 100_000
BODY = bytes(range(256)) * 40
ZSTD = zstandard.ZstdCompressor()


def lying_frame() -> bytes:
    """A frame whose header announces 300 bytes and which holds 200,000."""
    return (
        zstandard.ZstdCompressor(level=1)
        .compress(bytes(200_000))
        .replace((200_000).to_bytes(4, "little"), b"\x2c\1\0\0")
    )


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", BODY),
        ("identity", BODY),
        ("gzip", gzip.compress(BODY)),
        ("gzip", gzip.compress(BODY[:100]) + gzip.compress(BODY[100:])),
        ("deflate", zlib.compress(BODY)),
        ("zstd", ZSTD.compress(BODY)),
        ("zstd", ZSTD.compress(BODY[:100]) + ZSTD.compress(BODY[100:])),
        ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(BODY)),
        ("gzip", gzip.compress(b"")),
        ("gzip", b""),
    ],
)
def test_every_encoding_is_undone(encoding: str, packed: bytes) -> None:
    assert inflate(packed, encoding, LIMIT) == (BODY if len(packed) > 30 else b"")


@pytest.mark.parametrize(
    ("encoding", "packed", "reason"),
    [
        ("", bytes(LIMIT + 1), Reason.TOO_LARGE),
        ("gzip", gzip.compress(bytes(LIMIT + 1)), Reason.TOO_LARGE),
        ("gzip", b"".join([gzip.compress(bytes(LIMIT // 2))] * 3), Reason.TOO_LARGE),
        ("deflate", zlib.compress(bytes(10_000_000)), Reason.TOO_LARGE),
        ("zstd", ZSTD.compress(bytes(200_000_000)), Reason.TOO_LARGE),
        ("zstd", b"".join([ZSTD.compress(bytes(LIMIT // 2))] * 3), Reason.TOO_LARGE),
        ("gzip", gzip.compress(BODY)[:-3], Reason.MALFORMED),
        ("zstd", ZSTD.compress(BODY)[:-3], Reason.MALFORMED),
        ("gzip", BODY, Reason.MALFORMED),
        ("zstd", BODY, Reason.MALFORMED),
        ("br", BODY, Reason.UNSUPPORTED),
    ],
)
def test_bombs_cuts_and_strangers_are_refused(encoding: str, packed: bytes, reason: Reason) -> None:
    with pytest.raises(Refusal) as refused:
        inflate(packed, encoding, LIMIT)
    assert refused.value.reason is reason


def test_a_zstd_frame_that_lies_about_its_size_is_refused() -> None:
    with pytest.raises(Refusal):
        inflate(lying_frame(), "zstd", LIMIT)
