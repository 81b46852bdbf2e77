import errno
import os
from pathlib import Path

import pytest

from whyspan.ingest.errors import StoreError
from whyspan.ingest.store.wal import Frame, FrameKind, Retirement, WalWriter, read_segment, retire_segment


def frame(payload: bytes) -> Frame:
    return Frame(kind=FrameKind.TRACES, payload=payload, received_ns=7)


def only_segment(folder: Path) -> Path:
    [path] = folder.glob("*.wal")
    return path


def test_frames_come_back_in_order(tmp_path: Path) -> None:
    frames = [frame(b"one"), Frame(kind=FrameKind.LOGS, payload=b"", received_ns=8), frame(b"x" * 100_000)]
    end = WalWriter(tmp_path).append(frames)
    read = read_segment(only_segment(tmp_path), 0, 1 << 30)
    assert list(read.frames) == frames
    assert read.end == end
    assert not read.is_torn


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    writer = WalWriter(tmp_path)
    writer.append([frame(b"one"), frame(b"two")])
    first = read_segment(only_segment(tmp_path), 0, 1)
    rest = read_segment(only_segment(tmp_path), first.end.offset, 1 << 30)
    assert [f.payload for f in (*first.frames, *rest.frames)] == [b"one", b"two"]


@pytest.mark.parametrize("cut", [1, 10, 24])
def test_a_torn_tail_is_cut(tmp_path: Path, cut: int) -> None:
    writer = WalWriter(tmp_path)
    kept = writer.append([frame(b"kept")])
    writer.append([frame(b"torn")])
    path = only_segment(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    read = read_segment(path, 0, 1 << 30)
    assert [f.payload for f in read.frames] == [b"kept"]
    assert read.end == kept
    assert read.is_torn


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    WalWriter(tmp_path).append([frame(b"payload")])
    path = only_segment(tmp_path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert read_segment(path, 0, 1 << 30).frames == ()


def test_more_buffers_than_one_call_takes_are_written(tmp_path: Path) -> None:
    frames = [frame(b"%d" % n) for n in range(1500)]
    WalWriter(tmp_path).append(frames)
    assert list(read_segment(only_segment(tmp_path), 0, 1 << 30).frames) == frames


def test_a_full_segment_is_followed_by_a_new_one(tmp_path: Path) -> None:
    writer = WalWriter(tmp_path, segment_bytes=10)
    assert writer.append([frame(b"one")]).segment < writer.append([frame(b"two")]).segment


def test_a_segment_is_kept_while_its_writer_lives(tmp_path: Path) -> None:
    writer = WalWriter(tmp_path)
    end = writer.append([frame(b"one")])
    path = only_segment(tmp_path)
    assert retire_segment(path, end.offset) is Retirement.IN_USE
    writer.close()
    assert retire_segment(path, 0) is Retirement.IN_USE  # not rolled
    assert retire_segment(path, end.offset) is Retirement.REMOVED
    assert not path.exists()


def test_a_torn_segment_without_writer_is_removed_once_rolled(tmp_path: Path) -> None:
    writer = WalWriter(tmp_path)
    end = writer.append([frame(b"one")])
    path = only_segment(tmp_path)
    with path.open("ab") as file:
        file.write(b"WSP1 half a frame")
    writer.close()
    assert retire_segment(path, end.offset) is Retirement.REMOVED_TORN


def test_a_failed_sync_is_an_error_and_nothing_is_built_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = WalWriter(tmp_path)
    writer.append([frame(b"one")])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", full)
        with pytest.raises(StoreError, match="No space left"):
            writer.append([frame(b"lost")])
    writer.append([frame(b"two")])
    first, second = sorted(tmp_path.glob("*.wal"))
    assert [f.payload for f in read_segment(first, 0, 1 << 30).frames] == [b"one"]
    assert [f.payload for f in read_segment(second, 0, 1 << 30).frames] == [b"two"]


def test_frames_after_a_damaged_stretch_are_still_read(tmp_path: Path) -> None:
    writer = WalWriter(tmp_path)
    first = writer.append([frame(b"first")])
    second = writer.append([frame(b"second")])
    writer.append([frame(b"third WSP1 with a false mark"), frame(b"fourth")])
    path = only_segment(tmp_path)
    data = bytearray(path.read_bytes())
    data[first.offset : second.offset] = bytes(second.offset - first.offset)
    path.write_bytes(data)
    read = read_segment(path, 0, 1 << 30)
    assert [f.payload for f in read.frames] == [b"first", b"third WSP1 with a false mark", b"fourth"]
    assert [len(stretch) for stretch in read.damaged] == [second.offset - first.offset]
    assert read.end.offset == len(data)


def test_a_segment_can_have_a_second_name_that_outlives_the_first(tmp_path: Path) -> None:
    (tmp_path / "wal").mkdir()
    (tmp_path / "forward").mkdir()
    writer = WalWriter(tmp_path / "wal", also_in=tmp_path / "forward")
    end = writer.append([frame(b"one")])
    writer.close()
    assert retire_segment(only_segment(tmp_path / "wal"), end.offset) is Retirement.REMOVED
    assert read_segment(only_segment(tmp_path / "forward"), 0, 1 << 30).frames == (frame(b"one"),)
