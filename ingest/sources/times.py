"""Times as other back ends write them: ISO 8601 in UTC."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import FormatError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(value: Any) -> int:
    """Returns Unix nanoseconds of an ISO 8601 text, UTC where it names no zone; exact to the microsecond.

    Raises FormatError for anything else.
    """
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise FormatError(f"not a time: {value!r}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def format_time(time_ns: int) -> str:
    """Returns the ISO 8601 text of Unix nanoseconds, to the microsecond."""
    moment = _EPOCH + timedelta(microseconds=time_ns // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
