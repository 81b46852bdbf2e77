"""Bringing in spans and logs that are already somewhere: files now, other observability back ends beside them."""

from .importing import ImportReport, import_files, write_rejects

__all__ = ["ImportReport", "import_files", "write_rejects"]
