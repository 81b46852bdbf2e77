from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyspan.ingest.store import merging
from whyspan.ingest.store.layout import Layout
from whyspan.ingest.store.merging import merged
from whyspan.ingest.store.parquet import write_file
from whyspan.ingest.store.schema import LOG_RECORDS, MESSAGES

trace_ids = st.one_of(st.none(), st.sampled_from(["0" * 32, "7" * 32, "f" * 32]))
files = st.lists(st.lists(trace_ids, max_size=40), min_size=1, max_size=5)


def log_rows(ids: list[str | None], first_seq: int) -> pa.Table:
    columns = {"trace_id": ids, "seq": range(first_seq, first_seq + len(ids))}
    arrays = [
        pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(len(ids), f.type) for f in LOG_RECORDS
    ]
    return pa.Table.from_arrays(arrays, schema=LOG_RECORDS)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    layout = Layout(tmp_path_factory.mktemp("store"))
    layout.make()
    return layout


@given(files)
@settings(max_examples=40, deadline=None)
def test_any_files_become_one_sequence_in_order(layout: Layout, contents: list[list[str | None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_MIN_ROWS", 1)
        patch.setattr(merging, "_BATCH_ROWS", 3 * len(contents))  # three rows of a file at a time
        written, sent, seq = [], [], 0
        for ids in contents:
            written.append(layout.root / write_file(layout, "log_records", log_rows(ids, seq), tier="hot").path)
            sent += [(trace_id or "~", seq + n) for n, trace_id in enumerate(ids)]
            seq += len(ids)
        rows = [
            (row["trace_id"] or "~", row["seq"]) for part in merged(written, "log_records") for row in part.to_pylist()
        ]
        assert rows == sorted(sent)


def test_a_file_of_any_size_is_read_in_parts_even_if_it_is_all_of_one_trace(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_BATCH_BYTES", 1 << 20)
    paths = [layout.root / write_file(layout, "messages", messages(f * 10_000), tier="hot").path for f in range(4)]
    parts = list(merged(paths, "messages"))
    assert sum(part.num_rows for part in parts) == 4 * 4_000
    assert max(part.nbytes for part in parts) < 2 << 20


def messages(first: int) -> pa.Table:
    numbers = range(first, first + 4_000)
    columns = {
        "trace_id": ["0" * 32] * 4_000,
        "hash": [f"{n:032x}" for n in numbers],
        "time": [0] * 4_000,
        "body": [f"{n:01000}" for n in numbers],
        "seq": numbers,
    }
    return pa.table({f.name: pa.array(columns[f.name], f.type) for f in MESSAGES}, schema=MESSAGES)


def test_columns_that_an_older_file_lacks_are_null(tmp_path: Path) -> None:
    older = tmp_path / "older.parquet"
    pq.write_table(log_rows(["0" * 32], 1).drop_columns(["severity_text"]), older)
    [rows] = merged([older], "log_records")
    assert rows.schema == LOG_RECORDS
    assert rows["severity_text"].to_pylist() == [None]
