import time
from pathlib import Path

import pytest

from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.reply_store import SqliteReplyStore, StoredReply
from whyspan.ingest.calls import ModelReply, ToolCall, Usage
from whyspan.ingest.errors import StoreError

DAY_NS = 86_400 * 10**9


def plain(sample: int, text: str = "hi", *, age_ns: int = 0) -> StoredReply:
    now = time.time_ns() - age_ns
    call = ToolCall(name="send", arguments='{"a": "é"}', id="c")
    completion = Completion(
        reply=ModelReply(text=text, tool_calls=(call,), model="m"),
        usage=Usage(input_tokens=7, output_tokens=2, cost_usd=0.5),
    )
    return StoredReply(sample=sample, completion=completion, start_ns=now, end_ns=now)


def test_replies_come_back_as_they_were(tmp_path: Path) -> None:
    stored = [plain(0), plain(2, "lone \ud83d surrogate")]
    store = SqliteReplyStore(tmp_path / "new" / "r.sqlite")
    store.add([("e", "d", stored)])
    store.close()
    assert SqliteReplyStore(tmp_path / "new" / "r.sqlite").find("e", "d", 0, 9) == stored


def test_a_reply_is_found_by_endpoint_request_and_sample() -> None:
    store = SqliteReplyStore(None)
    store.add([("e", "d", [plain(0), plain(1), plain(5)])])
    assert [r.sample for r in store.find("e", "d", 1, 5)] == [1, 5]
    assert store.find("other", "d", 0, 9) == []
    assert store.find("e", "other", 0, 9) == []


def test_what_is_stored_stays() -> None:
    store = SqliteReplyStore(None)
    store.add([("e", "d", [plain(0, "first")])])
    store.add([("e", "d", [plain(0, "second")])])
    assert store.find("e", "d", 0, 1)[0].completion.reply.text == "first"


def test_old_replies_are_not_found_and_make_way(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    SqliteReplyStore(path).add([("e", "d", [plain(0, "old", age_ns=2 * DAY_NS), plain(1, "new")])])
    fresh = SqliteReplyStore(path, max_age_s=86_400)
    assert [r.sample for r in fresh.find("e", "d", 0, 2)] == [1]
    fresh.add([("e", "d", [plain(0, "again")])])
    assert [r.completion.reply.text for r in SqliteReplyStore(path).find("e", "d", 0, 2)] == ["again", "new"]


def test_stats_tell_what_is_kept() -> None:
    store = SqliteReplyStore(None)
    store.add([("e", "d1", [plain(0), plain(1)]), ("e", "d2", [plain(0)]), ("f", "d", [plain(0)])])
    first, second = store.stats()
    assert (first.endpoint, first.replies, first.requests) == ("e", 3, 2)
    assert (first.input_tokens, first.output_tokens, first.cost_usd) == (21, 6, 1.5)
    assert second.endpoint == "f"


def test_old_replies_can_be_forgotten() -> None:
    store = SqliteReplyStore(None)
    store.add([("e", "d", [plain(0, age_ns=2 * DAY_NS), plain(1)])])
    assert store.prune(before_ns=time.time_ns() - DAY_NS) == 1
    assert [r.sample for r in store.find("e", "d", 0, 9)] == [1]


def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    one, two = SqliteReplyStore(tmp_path / "r.sqlite"), SqliteReplyStore(tmp_path / "r.sqlite")
    one.add([("e", "d", [plain(0)])])
    two.add([("e", "d", [plain(1)])])
    assert len(one.find("e", "d", 0, 9)) == len(two.find("e", "d", 0, 9)) == 2


def test_a_file_that_is_no_store_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "r.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteReplyStore(tmp_path / "r.sqlite")
