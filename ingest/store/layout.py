"""Where things lie inside a store folder."""

from dataclasses import dataclass
from pathlib import Path

SCHEMA_VERSION = 3
"""Version of folder layout, manifest and tables; recorded in the manifest. A new column is a new version."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one store."""

    root: Path

    @property
    def manifest(self) -> Path:
        """The SQLite file that says which Parquet files are live; a folder with it is a store."""
        return self.root / "manifest.sqlite"

    @property
    def wal(self) -> Path:
        """Segments that writers append to."""
        return self.root / "wal"

    @property
    def data(self) -> Path:
        """Parquet files, all of them named by the manifest."""
        return self.root / "data"

    @property
    def quarantine(self) -> Path:
        """What could not be decoded."""
        return self.root / "quarantine"

    @property
    def forward(self) -> Path:
        """Segments that are still to be sent on to another endpoint."""
        return self.root / "forward"

    @property
    def roll_lock(self) -> Path:
        """Held while WAL is turned into Parquet."""
        return self.root / "roll.lock"

    @property
    def compact_lock(self) -> Path:
        """Held while files are merged or pruned."""
        return self.root / "compact.lock"

    def make(self) -> None:
        """Creates the folders."""
        for folder in (self.root, self.wal, self.data, self.quarantine):
            folder.mkdir(parents=True, exist_ok=True)


def schema_name(kind: str) -> str:
    """Returns the name of the file without rows that fixes a table's columns; it changes when they do."""
    return f"{kind}-schema-{SCHEMA_VERSION}.parquet"
