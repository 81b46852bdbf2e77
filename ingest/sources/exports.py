"""Files that other back ends export, as rows of keys and values: JSON, JSON lines, CSV, Parquet; compressed or not."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import orjson

from ..errors import FormatError
from ..spans import Span
from .decoded import Reject
from .evaluations import Score, score_event
from .inputs import find_files, read_input
from .reading import read_each
from .source import Batch, Position

Row: TypeAlias = Mapping[str, Any]
BATCH = 1000
"""Rows that are decoded at a time."""
SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_PARQUET = b"PAR1"


def read_rows(data: bytes, name: str) -> Iterator[Row]:
    """Yields the rows of a file, recognised by its content.

    Raises FormatError when it is none of the forms.
    """
    if data.startswith(_PARQUET):
        yield from _parquet_rows(data)
    elif data.lstrip()[:1] in (b"{", b"["):
        yield from _json_rows(data, name)
    else:
        yield from _csv_rows(data, name)


def _parquet_rows(data: bytes) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(pa.BufferReader(data)).iter_batches(batch_size=BATCH):
        yield from batch.to_pylist(maps_as_pydicts="strict")


def _json_rows(data: bytes, name: str) -> Iterator[Row]:
    try:
        documents: Iterable[Any] = [orjson.loads(data)]
    except orjson.JSONDecodeError:
        documents = (_parse(line, f"{name}, line {i}") for i, line in enumerate(data.splitlines(), 1) if line.strip())
    for document in documents:
        if isinstance(document, list):
            yield from (item for item in document if isinstance(item, Mapping))
        elif isinstance(document, Mapping):
            yield document


def _parse(line: bytes, place: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"{place} is not JSON: {error}") from error


def _csv_rows(data: bytes, name: str) -> Iterator[Row]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name} is neither JSON, nor CSV, nor Parquet") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if len(reader.fieldnames or ()) < 3:
        raise FormatError(f"{name} is neither JSON, nor CSV, nor Parquet")
    for row in reader:
        yield {key: value for key, value in row.items() if key is not None and value not in ("", None)}


class ExportSource:
    """Files of one back end, read some rows at a time."""

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        to_items: Callable[[Iterable[Row]], Iterator[Row]],
        decode: Callable[[Row], Span | Score],
        *,
        version_key: str = "",
    ) -> None:
        self._name = name
        self._files = find_files(paths, suffixes=SUFFIXES)
        self._to_items = to_items
        """Rows of a file → one item a span or score."""
        self._decode = decode
        self._version_key = version_key

    @property
    def key(self) -> str:
        """The files; nothing is remembered about them, since they may have changed."""
        return f"{self._name} files"

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yields what is in each file; where one cannot be read any further there is a reject."""
        for name in self._files:
            try:
                items = self._to_items(read_rows(read_input(name), name))
                while chunk := list(islice(items, BATCH)):
                    yield self._batch(name, chunk)
            except FormatError as error:
                yield Batch(rejects=(Reject(place=name, reason=error.message),), position={})

    def _batch(self, name: str, items: Sequence[Row]) -> Batch:
        decoded, rejects = read_each(name, items, self._decode)
        return Batch(
            spans=tuple(item for item in decoded if isinstance(item, Span)),
            logs=tuple(score_event(item) for item in decoded if isinstance(item, Score) and not item.is_own),
            rejects=tuple(rejects),
            version_key=self._version_key,
            position={},
        )
