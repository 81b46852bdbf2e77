"""What every registered source promises: idempotent, resumable, nothing lost when the other side dies half-way."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from backend_server import CUT, Answer
from source_cases import CASES, SPANS_A_RUN, SourceCase

from whyspan.ingest.errors import ConfigError, UpstreamError
from whyspan.ingest.remote import Patience
from whyspan.ingest.sources.pulling import PullReport, pull
from whyspan.ingest.sources.registry import sources
from whyspan.ingest.sources.source import Selection, Source
from whyspan.ingest.store import Store

RUNS = 4
PAGE = 2
"""Items a page, so that an import takes several requests."""

each_case = pytest.mark.parametrize("name", list(CASES), ids="-".join)


@contextmanager
def opened(name: tuple[str, str], server: Any, *, attempts: int = 1) -> Iterator[Source]:
    patience = Patience(attempts=attempts, sleep=lambda _: None)
    with sources()[name[0]](Selection(), environ=CASES[name].environ(server), patience=patience) as source:
        yield source


def import_into(path: Path, name: tuple[str, str], server: Any, *, attempts: int = 1) -> PullReport:
    with Store.create(path) as store, opened(name, server, attempts=attempts) as source:
        return pull(store, source)


def content(path: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Returns the spans and the scores in a store."""
    with Store.open(path) as store, store.connect() as db:
        spans = db.execute("SELECT trace_id, span_id FROM spans ORDER BY ALL").fetchall()
        scores = db.execute("SELECT trace_id, name, value, explanation FROM scores ORDER BY ALL").fetchall()
    return spans, scores


def case_of(name: tuple[str, str]) -> SourceCase:
    return CASES[name]


def test_every_registered_source_is_under_contract() -> None:
    assert set(sources()) == {source for source, _ in CASES}


@each_case
def test_everything_comes_in_page_by_page(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS, PAGE).running() as server:
        report = import_into(tmp_path, name, server)
    spans, scores = content(tmp_path)
    assert report.batches > 2
    assert len({trace for trace, _ in spans}) == RUNS
    assert len(spans) == RUNS * SPANS_A_RUN
    assert [row[1:] for row in scores] == [("thumbs", 0.0, "bad")] * RUNS


@each_case
def test_importing_again_changes_nothing(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS, PAGE).running() as server:
        import_into(tmp_path, name, server)
        before = content(tmp_path)
        import_into(tmp_path, name, server)
        (tmp_path / "imports.sqlite").unlink()
        import_into(tmp_path, name, server)
    assert content(tmp_path) == before


@each_case
def test_nothing_is_lost_whenever_the_other_side_dies(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS, PAGE).running() as server:
        import_into(tmp_path / "whole", name, server)
        requests = len(server.calls)
        for survived in sorted({0, 3, requests // 2, requests - 1}):
            server.calls.clear()
            server.dies_after = survived
            with pytest.raises(UpstreamError):
                import_into(tmp_path / str(survived), name, server)
            server.dies_after = None
            import_into(tmp_path / str(survived), name, server)
            assert content(tmp_path / str(survived)) == content(tmp_path / "whole"), f"died after {survived} requests"


@each_case
def test_an_interrupted_import_is_continued_and_not_begun_again(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS * 2, PAGE).running() as server:
        import_into(tmp_path / "whole", name, server)
        requests = len(server.calls)
        server.calls.clear()
        server.dies_after = requests - 2
        with pytest.raises(UpstreamError):
            import_into(tmp_path / "half", name, server)
        server.dies_after = None
        server.calls.clear()
        import_into(tmp_path / "half", name, server)
        assert len(server.calls) < requests / 2 + 3


@each_case
def test_failures_that_pass_are_survived(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS, PAGE).running() as server:
        busy, broken, away = Answer(429, {}, {"Retry-After": "1"}), Answer(500, {}), Answer(503, {})
        server.failures.extend([busy, None, broken, away, None, CUT, None, CUT, busy])
        import_into(tmp_path, name, server, attempts=4)
        assert not server.failures
    assert len(content(tmp_path)[0]) == RUNS * SPANS_A_RUN


@each_case
def test_wrong_keys_are_a_matter_of_configuration(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(1, PAGE).running() as server:
        wrong = {k: v if "URL" in k or "URI" in k else "wrong" for k, v in case_of(name).environ(server).items()}
        with (
            pytest.raises(ConfigError, match="refuses the keys") as caught,
            Store.create(tmp_path) as store,
            sources()[name[0]](Selection(), environ=wrong) as source,
        ):
            pull(store, source)
    assert caught.value.hint


@each_case
def test_the_next_import_brings_what_came_since(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS, PAGE).running() as server:
        import_into(tmp_path, name, server)
        (tmp_path / "imports.sqlite").unlink()  # the runs of this test began long ago: no window would have them
        case_of(name).add_run(server, RUNS)
        import_into(tmp_path, name, server)
    assert len(content(tmp_path)[0]) == (RUNS + 1) * SPANS_A_RUN


@each_case
def test_one_unreadable_item_costs_only_itself(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(RUNS, PAGE).running() as server:
        case_of(name).add_unreadable(server)
        report = import_into(tmp_path, name, server)
    assert len(content(tmp_path)[0]) == RUNS * SPANS_A_RUN
    assert len(report.rejects) == 1
    assert report.rejects[0].reason


@each_case
def test_what_whyspan_wrote_back_is_not_imported(name: tuple[str, str], tmp_path: Path) -> None:
    with case_of(name).filled(1, PAGE).running() as server:
        case_of(name).add_own(server, 0)
        import_into(tmp_path, name, server)
    assert [row[1] for row in content(tmp_path)[1]] == ["thumbs"]
