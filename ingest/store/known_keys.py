"""Which rows the store has already: what keeps a request that was sent twice from counting twice.

Exact: a trace that the manifest knows is looked up in its files. The roller of a busy collector sees the same traces
again and again, so what it has looked up or written it remembers.
"""

from collections import OrderedDict
from collections.abc import Iterable

import pyarrow as pa

from .layout import Layout
from .manifest import Manifest
from .parquet import read_keys
from .schema import TABLES

_REMEMBERED_KEYS = 200_000


class KnownKeys:
    """The keys of the rows of recent traces. Valid only while no other process adds rows: see `forget`."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self._layout = layout
        self._manifest = manifest
        self._traces: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        self._size = 0

    def forget(self) -> None:
        """Forgets everything, because another process may have added rows."""
        self._traces.clear()
        self._size = 0

    def fresh(self, kind: str, table: pa.Table) -> pa.Table:
        """Returns the rows that are new, of two alike the first, and remembers them. Rows without a trace are new."""
        trace_ids = table["trace_id"].to_pylist()
        self._load(kind, set(filter(None, trace_ids)))
        keep = []
        for trace_id, key in zip(trace_ids, table[TABLES[kind].key].to_pylist(), strict=True):
            known = self._traces[kind, trace_id] if trace_id else set()
            keep.append(key not in known)
            known.add(key)
        self._size += sum(keep)
        return table if all(keep) else table.filter(pa.array(keep))

    def trim(self) -> None:
        """Forgets the traces that were touched longest ago, beyond a bound."""
        while self._size > _REMEMBERED_KEYS and self._traces:
            _, keys = self._traces.popitem(last=False)
            self._size -= len(keys)

    def _load(self, kind: str, trace_ids: Iterable[str]) -> None:
        missing = []
        for trace_id in trace_ids:
            if (kind, trace_id) in self._traces:
                self._traces.move_to_end((kind, trace_id))
            else:
                self._traces[kind, trace_id] = set()
                missing.append(trace_id)
        for path, present in self._manifest.files_of(kind, missing).items():
            for trace_id, key in read_keys(self._layout.root / path, kind, present):
                self._traces[kind, trace_id].add(key)
                self._size += 1
