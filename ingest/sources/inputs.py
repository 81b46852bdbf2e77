"""Where imported bytes come from: files, folders, standard input; compressed or not."""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import FormatError, UsageError

STDIN = "-"
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".pb", ".bin", ".log", ".txt", ".otlp")
_COMPRESSED = (".gz", ".zst")
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"


def find_files(paths: Iterable[str], *, suffixes: Sequence[str] = _SUFFIXES) -> list[str]:
    """Returns the files that the arguments stand for: a folder gives those in it whose names end in a suffix.

    Raises UsageError for a path that does not exist.
    """
    found: list[str] = []
    for name in paths:
        path = Path(name)
        if name == STDIN or path.is_file():
            found.append(name)
        elif path.is_dir():
            found += sorted(str(p) for p in path.rglob("*") if p.is_file() and _has_suffix(p, suffixes))
        else:
            raise UsageError(f"there is no file {name}")
    return found


def _has_suffix(path: Path, suffixes: Sequence[str]) -> bool:
    own = [s for s in path.suffixes if s not in _COMPRESSED]
    return bool(own) and own[-1] in suffixes


def read_input(name: str) -> bytes:
    """Returns the decompressed content of a file, or of standard input.

    Raises FormatError when it cannot be read or decompressed.
    """
    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror}") from error
    return decompress(data, name)


def decompress(data: bytes, name: str) -> bytes:
    """Returns the content of gzip or Zstandard data, recognised by its first bytes, and other data as it is."""
    try:
        if data.startswith(_GZIP):
            return gzip.decompress(data)
        if data.startswith(_ZSTD):
            return b"".join(_zstd_frames(data))
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{name} is damaged: {error}") from error
    return data


def _zstd_frames(data: bytes) -> Iterator[bytes]:
    import pyarrow as pa

    # Arrow's codec is in the dependencies already; a stream reads frames without a size in their header too.
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while chunk := stream.read(1 << 20):
            yield chunk
