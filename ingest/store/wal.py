"""The write-ahead log: export requests on disk before anybody is told that they are safe.

A store has one segment file per writer process. A segment is a sequence of frames

    magic "WSP1" | kind u8 | length u32 | received u64 (Unix ns) | xxh3-64 of the payload u64 | payload

and the payload is an OTLP export request in protobuf. A writer holds a lock on its segment while it lives: a segment
that can be locked has lost its writer, so that an incomplete frame at its end is torn and not merely unfinished.
"""

import contextlib
import fcntl
import io
import os
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import xxhash

from ..errors import StoreError
from .durable import sync_folder

_HEADER = struct.Struct("<4sBIQQ")
_MAGIC = b"WSP1"
_MAX_VECTORS = 512
"""Buffers per writev, below IOV_MAX (1,024 on Linux)."""
SEGMENT_BYTES = 64 << 20
"""A segment is closed beyond this size, so that rolled ones can be deleted."""


class FrameKind(IntEnum):
    """What a payload is."""

    TRACES = 1
    LOGS = 2


_KINDS = frozenset(FrameKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One export request."""

    kind: FrameKind
    payload: bytes
    received_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in the log."""

    segment: str
    """File name."""
    offset: int
    """Bytes from the start of the segment."""


class WalWriter:
    """Appends frames to a segment of its own; not thread-safe, one caller at a time.

    `also_in` is a folder in which each segment gets a second name, for another reader that removes it in its own time.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, also_in: Path | None = None) -> None:
        self._folder = folder
        self._also_in = also_in
        self._segment_bytes = segment_bytes
        self._descriptor: int | None = None
        self._path = folder
        self._offset = 0

    def append(self, frames: Sequence[Frame]) -> Position:
        """Writes the frames and returns the position after them; they are durable when it returns.

        Raises StoreError when the disk refuses; then none of the frames counts, and the next append starts a new
        segment: whatever a failed write or sync has left behind is never built upon.
        """
        try:
            descriptor = self._open_segment()
            size = _write_all(descriptor, frames)
            os.fdatasync(descriptor)
        except OSError as error:
            self._abandon()
            raise StoreError(f"cannot write {self._path}: {error.strerror}") from error
        self._offset += size
        return Position(segment=self._path.name, offset=self._offset)

    def close(self) -> None:
        """Lets go of the segment; the roller may delete it once it is rolled."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open_segment(self) -> int:
        if self._descriptor is not None and self._offset < self._segment_bytes:
            return self._descriptor
        self.close()
        while True:
            # The name sorts by creation time; the process id keeps writers apart that start in the same instant.
            self._path = self._folder / f"{time.time_ns():020d}-{os.getpid()}.wal"
            descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                break
            os.close(descriptor)  # A roller took the new, still unlocked file for an abandoned one and removed it.
        self._descriptor, self._offset = descriptor, 0
        if self._also_in is not None:
            os.link(self._path, self._also_in / self._path.name)
            sync_folder(self._also_in)
        sync_folder(self._folder)
        return descriptor

    def _abandon(self) -> None:
        if self._descriptor is None:
            return
        # If even this fails, the tail is cut by its checksum, or rolled: stored, though never acknowledged.
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, self._offset)
        self.close()


def _write_all(descriptor: int, frames: Sequence[Frame]) -> int:
    buffers: list[bytes] = []
    for frame in frames:
        digest = xxhash.xxh3_64_intdigest(frame.payload)
        buffers += [_HEADER.pack(_MAGIC, frame.kind, len(frame.payload), frame.received_ns, digest), frame.payload]
    for start in range(0, len(buffers), _MAX_VECTORS):
        _write_vectors(descriptor, buffers[start : start + _MAX_VECTORS])
    return sum(map(len, buffers))


def _write_vectors(descriptor: int, buffers: list[bytes]) -> None:
    written = os.writev(descriptor, buffers)
    if written < sum(map(len, buffers)):  # a full disk or a signal: finish the rest, or fail with the real error
        rest = memoryview(b"".join(buffers))[written:]
        while rest:
            rest = rest[os.write(descriptor, rest) :]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRead:
    """Frames read from one segment."""

    frames: tuple[Frame, ...]
    end: Position
    """After the last whole frame that was read."""
    is_torn: bool
    """Bytes follow that are no whole frame. While the writer lives they are merely unfinished."""
    damaged: tuple[bytes, ...] = ()
    """Stretches between whole frames that are none: the disk has changed them."""


def read_segment(path: Path, offset: int, max_bytes: int) -> SegmentRead:
    """Returns the whole frames from `offset` on, stopping once `max_bytes` are passed."""
    frames: list[Frame] = []
    damaged: list[bytes] = []
    end, is_torn = offset, False
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while end < size and end - offset < max_bytes and not is_torn:
            file.seek(end)
            frame = _read_frame(file.read(_HEADER.size), file.read, size - end)
            if frame is not None:
                frames.append(frame)
                end += _HEADER.size + len(frame.payload)
                continue
            file.seek(end)
            stretch = _before_next_frame(file.read())
            is_torn = stretch is None
            if stretch is not None:
                damaged.append(stretch)
                end += len(stretch)
    position = Position(segment=path.name, offset=end)
    return SegmentRead(frames=tuple(frames), end=position, is_torn=is_torn, damaged=tuple(damaged))


def _before_next_frame(data: bytes) -> bytes | None:
    """Returns what stands before the next whole frame; None when none follows."""
    at = data.find(_MAGIC, 1)
    while at != -1:
        rest = io.BytesIO(data[at:])
        if _read_frame(rest.read(_HEADER.size), rest.read, len(data) - at) is not None:
            return data[:at]
        at = data.find(_MAGIC, at + 1)
    return None


def _read_frame(header: bytes, read: Callable[[int], bytes], available: int) -> Frame | None:
    if len(header) < _HEADER.size:
        return None
    magic, kind, length, received_ns, digest = _HEADER.unpack(header)
    if magic != _MAGIC or _HEADER.size + length > available or kind not in _KINDS:
        return None
    payload = read(length)
    if len(payload) < length or xxhash.xxh3_64_intdigest(payload) != digest:
        return None
    return Frame(kind=FrameKind(kind), payload=payload, received_ns=received_ns)


def list_segments(folder: Path) -> list[Path]:
    """Returns the segments, oldest first."""
    return sorted(folder.glob("*.wal"))


class Retirement(IntEnum):
    """What became of a rolled segment."""

    IN_USE = 0
    """Its writer lives, or frames in it are still to be rolled."""
    REMOVED = 1
    REMOVED_TORN = 2
    """Removed; its end was no whole frame, because its writer died while writing."""


def retire_segment(path: Path, offset: int) -> Retirement:
    """Removes a segment that is rolled up to `offset`, if nothing more can come of it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Retirement.IN_USE
        size = os.fstat(file.fileno()).st_size
        if size > offset and read_segment(path, offset, 1).frames:
            return Retirement.IN_USE
        path.unlink()
    return Retirement.REMOVED_TORN if size > offset else Retirement.REMOVED
