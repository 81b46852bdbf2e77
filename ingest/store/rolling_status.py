"""What the roller process tells the collector: a line of JSON on its standard output after every roll."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RollerStatus:
    """Totals since the roller process was started."""

    pending_bytes: int = 0
    """Acknowledged and not yet in Parquet, when the line was written."""
    rolled_bytes: int = 0
    rows: int = 0
    duplicates: int = 0
    quarantined: int = 0
    torn: int = 0
    restarts: int = 0
    """Set by the collector: times that the process was started again."""
    watermark_ns: int = 0
    """When the newest request in Parquet was received (Unix ns)."""
    error: str = ""
    """Why the process cannot do its work and has ended; empty when all is well."""
    hint: str = ""

    def to_line(self) -> str:
        """Returns the line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str | bytes) -> "RollerStatus":
        """Reads a line."""
        return cls(**json.loads(line))
