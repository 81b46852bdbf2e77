"""Spans on disk: a write-ahead log, Parquet files that a manifest names, and SQL views over them.

Names are imported on first use, so that the receiving process, which needs the log alone, loads neither DuckDB nor
Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Store", "open_store"]

if TYPE_CHECKING:
    from .store import Store as Store
    from .store import open_store as open_store


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".store", __name__), name)
