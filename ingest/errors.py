"""The one tree of expected errors, split by what the user can do about them.

WhyspanError
├── UsageError        a wrong argument, event or name                      exit 2
│   └── ConfigError   a wrong setting or file of settings                  exit 2
├── FormatError       input data that cannot be read                       exit 3
├── StoreError        no store, a damaged one, or one that cannot be written  exit 3
│   └── NotFoundError   the store is fine, the thing asked for is not in it   exit 3
├── NotReplayableError  the recorded call lacks what a replay needs        exit 3
├── UpstreamError     a model or telemetry endpoint failed                 exit 4
└── BudgetExceededError   a cap was reached; continuing is possible        exit 5
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    OK = 0
    FINDING = 1
    """A test failed, a fix did not hold, or no cause was found."""
    USAGE = 2
    BAD_DATA = 3
    UPSTREAM = 4
    BUDGET = 5
    """A cap was reached; the state is saved and the command can be continued."""
    INTERRUPTED = 130


class WhyspanError(Exception):
    """An expected failure: shown as one line and a hint, without a traceback."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(WhyspanError):
    """A wrong argument, event or name; the hint lists the valid ones."""


class ConfigError(UsageError):
    """A wrong setting, in the environment or in a file."""


class FormatError(WhyspanError):
    """Input data that cannot be read."""

    exit_code = ExitCode.BAD_DATA


class StoreError(WhyspanError):
    """There is no store here, it is damaged, or it cannot be written."""

    exit_code = ExitCode.BAD_DATA


class NotFoundError(StoreError):
    """The store is fine but does not hold what was asked for."""


class NotReplayableError(WhyspanError):
    """The recorded call lacks something that a replay needs; the hint says what to switch on."""

    exit_code = ExitCode.BAD_DATA


class UpstreamError(WhyspanError):
    """A model or telemetry endpoint failed; `transient` tells whether trying again may help."""

    exit_code = ExitCode.UPSTREAM

    def __init__(
        self, message: str, *, hint: str | None = None, transient: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.transient = transient
        self.retry_after_s = retry_after_s


class BudgetExceededError(WhyspanError):
    """A cap on calls, tokens or money was reached; nothing is lost and the work can be continued."""

    exit_code = ExitCode.BUDGET
