"""The OTLP signals, and what is said about a request that was taken."""

from dataclasses import dataclass
from enum import Enum


class Signal(Enum):
    """The OTLP signals."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a request; everything accepted is durable."""

    rejected: int = 0
    message: str = ""
