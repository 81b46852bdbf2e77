"""One process a job: a file lock, which the system lets go of when its holder dies, however it dies."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...ingest.errors import ExitCode, WhyspanError


class JobRunningError(WhyspanError):
    """Another process runs the job. Schedulers overlap: that is no failure."""

    exit_code = ExitCode.OK


@contextmanager
def job_lock(path: Path, name: str) -> Iterator[None]:
    """Holds the lock of a job. Raises JobRunningError when another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobRunningError(
                f"job {name!r} is being run by another process", hint=f"whyspan jobs status {name}"
            ) from None
        yield


def is_locked(path: Path) -> bool:
    """Tells whether some process holds the lock."""
    try:
        with path.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
