import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from whyspan.ingest.spans import LogRecord, Span, SpanId, TraceId
from whyspan.ingest.store import Store, settling
from whyspan.ingest.store.compaction import FAN, MAX_BYTES, compact, plan
from whyspan.ingest.store.layout import Layout
from whyspan.ingest.store.manifest import LiveFile
from whyspan.ingest.store.schema import TABLES

DAY_US = 86_400_000_000
NOW_US = 20_000 * DAY_US + DAY_US // 2


def live(n: int, *, tier: str = "hot", size: int = 1000, age_days: float = 0, settled: bool = True) -> LiveFile:
    newest = int(NOW_US - age_days * DAY_US)
    return LiveFile(
        path=f"f{n}", kind="spans", tier=tier, rows=1, bytes=size, min_us=newest, max_us=newest, is_settled=settled
    )


def test_few_files_of_today_are_left_alone() -> None:
    assert plan([live(n) for n in range(FAN - 1)], NOW_US) == []


def test_eight_files_of_one_size_are_merged() -> None:
    [merge] = plan([live(n) for n in range(FAN)], NOW_US)
    assert (merge.tier, len(merge.files)) == ("hour", FAN)


def test_however_many_files_pile_up_few_are_merged_at_once() -> None:
    merges = plan([live(n) for n in range(5 * FAN)], NOW_US)
    assert [len(merge.files) for merge in merges] == [2 * FAN, 2 * FAN, FAN]


def test_small_files_do_not_drag_a_large_one_along() -> None:
    large = live(99, tier="hour", size=50 << 20)
    [merge] = plan([large, *(live(n) for n in range(FAN))], NOW_US)
    assert large not in merge.files


def test_hot_files_are_not_merged_with_merged_ones_of_their_size() -> None:
    merged = [live(n, tier="hour") for n in range(FAN - 1)]
    assert plan([*merged, live(FAN)], NOW_US) == []


def test_what_a_past_day_left_is_merged_but_a_finished_day_is_left_alone() -> None:
    finished = live(0, tier="day", size=5 << 20, age_days=1)
    left = [live(1, age_days=1), live(2, tier="hour", age_days=1), live(3, age_days=2), live(4, age_days=2)]
    merges = plan([finished, *left], NOW_US)
    assert [(merge.tier, {file.path for file in merge.files}) for merge in merges] == [
        ("day", {"f1", "f2"}),
        ("day", {"f3", "f4"}),
    ]


def test_files_that_no_merge_settles_are_settled_one_by_one() -> None:
    """One that is alone in a day that is over, and those that were merged before there was anything to settle."""
    alone = live(0, age_days=1, settled=False)
    older = [live(1, tier="day", size=MAX_BYTES, age_days=2, settled=False), live(2, tier="hour", settled=False)]
    todays = live(3, settled=False)
    merges = plan([alone, *older, todays, live(4, tier="day", age_days=3)], NOW_US)
    assert [(merge.tier, [f.path for f in merge.files]) for merge in merges] == [
        ("day", ["f0"]),
        ("day", ["f1"]),
        ("hour", ["f2"]),
    ]


@pytest.mark.parametrize("kind", TABLES)
def test_a_hot_file_alone_in_a_past_day_is_written_once_more(kind: str) -> None:
    alone = replace(live(0, age_days=1, settled=False), kind=kind)
    done = replace(live(1, tier="day", age_days=1), kind=kind)
    [merge] = plan([alone, done], NOW_US)
    assert (merge.kind, merge.tier, merge.files) == (kind, "day", [alone])


def test_full_files_are_never_merged_again() -> None:
    assert plan([live(n, size=MAX_BYTES) for n in range(2 * FAN)], NOW_US) == []


def test_thirty_days_of_ticks_leave_at_most_a_hundred_files() -> None:
    files: list[LiveFile] = []
    for hour in range(30 * 24):
        now_us = NOW_US + hour * DAY_US // 24
        for tick in range(12):  # a roll every five minutes
            newest = now_us + tick * 300_000_000
            files.append(replace(live(0, size=200_000), path=f"{hour}.{tick}", min_us=0, max_us=newest))
        while merges := plan(files, now_us):
            for number, merge in enumerate(merges):
                gone = set(merge.files)
                size, newest = sum(f.bytes for f in gone), max(f.max_us or 0 for f in gone)
                merged = replace(
                    live(0, tier=merge.tier, size=size), path=f"m{hour}.{number}.{len(files)}", max_us=newest
                )
                files = [*(f for f in files if f not in gone), merged]
    assert len(files) <= 100


def span(trace: int, number: int, start_ns: int, text: str = "") -> Span:
    return Span(
        trace_id=TraceId(f"{trace:032x}"),
        span_id=SpanId(f"{number:016x}"),
        name="s",
        start_ns=start_ns,
        end_ns=start_ns + 1,
        attributes={"text": text},
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s") as store:
        yield store


def test_compaction_changes_no_row_and_readers_under_way_are_not_disturbed(store: Store) -> None:
    now_ns = time.time_ns()
    spans = [span(n % 3, n, now_ns + n, f"{n} " * 600) for n in range(1, 3 * FAN)]
    for one in spans:
        store.write([one], [LogRecord(trace_id=one.trace_id, time_ns=now_ns, body="b" * 2000)])
    with store.connect() as reader:
        before = reader.execute("SELECT * FROM spans ORDER BY span_id").fetchall()
        logs = [store.logs(TraceId(f"{n:032x}")) for n in range(3)]
        assert store.compact() > 0
        assert reader.execute("SELECT * FROM spans ORDER BY span_id").fetchall() == before
    assert sum(table.files for table in store.stats().tables) < 15
    assert [one for n in range(3) for one in store.spans(TraceId(f"{n:032x}"))] == sorted(
        spans, key=lambda s: (s.trace_id, s.start_ns)
    )
    assert [store.logs(TraceId(f"{n:032x}")) for n in range(3)] == logs
    assert store.verify() == []


def test_replaced_files_and_orphans_are_deleted_after_the_grace_time(store: Store) -> None:
    for n in range(1, FAN + 1):
        store.write([span(n, n, time.time_ns())])
    orphan = store.path / "data" / "spans-hot-orphan.parquet"
    orphan.write_bytes(b"written by a process that was killed before its commit")
    os.utime(orphan, (0, 0))
    store.compact(grace_ns=0)
    on_disk = {str(path.relative_to(store.path)) for path in (store.path / "data").iterdir()}
    assert on_disk == {file.path for file in store._manifest.live_files()}


def test_many_small_writes_are_tidied_up(store: Store) -> None:
    for n in range(1, 50):
        store.write([span(n, n, time.time_ns())])
    assert store.stats().tables[0].files < 40
    assert store.stats().tables[0].rows == 49


def test_a_duplicate_is_recognised_after_compaction(store: Store) -> None:
    spans = [span(1, n, time.time_ns()) for n in range(1, FAN + 1)]
    for one in spans:
        store.write([one])
    store.compact()
    store.write(spans)
    assert len(store.spans(TraceId(f"{1:032x}"))) == FAN


def test_pruning_deletes_old_rows_and_the_text_that_nobody_needs(store: Store) -> None:
    now_ns, day_ns = time.time_ns(), 86_400 * 10**9
    old, new = span(1, 1, now_ns - 40 * day_ns, "old " * 400), span(2, 2, now_ns, "new " * 400)
    late = span(3, 3, now_ns - 40 * day_ns, "shared " * 400)
    keeps_text = span(3, 4, now_ns, "shared " * 400)
    store.write([old, new, late, keeps_text])
    assert store.prune(keep_days=30) == 3  # two spans and the text of one trace
    assert store.all_trace_ids() == [new.trace_id, keeps_text.trace_id]
    assert store.spans(keeps_text.trace_id) == [keeps_text]
    assert store.verify() == []


def test_verify_names_what_is_damaged(store: Store) -> None:
    store.write([span(1, 1, time.time_ns(), "text " * 400)])
    [messages] = (store.path / "data").glob("messages-hot-*")
    data = messages.read_bytes()
    messages.write_bytes(data[: len(data) // 2])
    assert [problem.split(" cannot be read")[0] for problem in store.verify()] == [f"data/{messages.name}"]
    messages.unlink()
    assert store.verify() == [f"data/{messages.name} is missing"]


def test_verify_finds_references_to_text_that_is_gone(store: Store) -> None:
    store.write([span(1, 1, time.time_ns(), "text " * 400)])
    [file] = [file.path for file in store._manifest.live_files() if file.kind == "messages" and file.tier == "hot"]
    store._manifest.replace([file], [])
    [problem] = store.verify()
    assert problem.startswith(f"trace {1:032x} lacks the message ")


def test_a_merge_that_does_not_fit_into_its_memory_stays_undone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(1, FAN + 1):
        store.write([span(n, 100 * n + m, time.time_ns(), f"{n} {m} " * 400) for m in range(50)])
    monkeypatch.setattr(settling, "MEMORY_LIMIT", "1KB")
    store.compact()
    assert store.stats().tables[0].files == FAN
    assert store.stats().tables[0].rows == 50 * FAN
    assert store.verify() == []


def test_a_damaged_file_does_not_keep_the_others_apart(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    for n in range(1, 2 * FAN + 1):
        store.write([span(n, n, time.time_ns(), "text " * 400)])
    damaged = next((store.path / "data").glob("messages-hot-*"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    store.compact()
    tables = {table.table: table.files for table in store.stats().tables}
    assert tables == {"spans": 1, "log_records": 0, "messages": 2 * FAN}
    assert "16 messages files are left unmerged" in caplog.text


def test_compaction_that_is_told_to_stop_begins_no_merge(store: Store) -> None:
    for n in range(1, FAN + 1):
        store.write([span(n, n, time.time_ns())])
    stopping = threading.Event()
    stopping.set()
    assert compact(Layout(store.path), store._manifest, stopping=stopping) == 0
    assert store.stats().tables[0].files == FAN
