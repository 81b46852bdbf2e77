"""The file-system calls that durability rests on."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Makes names created, renamed or removed in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(temporary: Path, final: Path) -> None:
    """Gives a written file its final name, all or nothing, surviving a power cut."""
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.rename(final)
    sync_folder(final.parent)


@contextmanager
def try_lock(path: Path, *, wait_s: float = 0.0) -> Iterator[bool]:
    """Takes an exclusive lock on the file for the block; yields whether it was got within `wait_s`.

    The kernel releases it when the process dies, so no lock is ever stale.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield _flock(descriptor, time.monotonic() + wait_s)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        else:
            return True
