"""`whyspan runs` and `whyspan sql`, as a user types them."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from whyspan.cli.main import main
from whyspan.ingest.spans import Resource, Span, SpanId, TraceId
from whyspan.ingest.store import Store

T0 = 1_790_000_000_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    spans = [
        Span(
            trace_id=TraceId(f"{n:032x}"),
            span_id=SpanId(f"{n:016x}"),
            name=f"run {n}\x1b[31m",
            start_ns=T0 + n * 10**9,
            end_ns=T0 + n * 10**9 + 10**6,
            resource=Resource(attributes={"service.name": "agent"}),
        )
        for n in range(1, 4)
    ]
    with Store.create(tmp_path / "s") as store:
        store.write(spans)
    return tmp_path / "s"


def run(path: Path, words: Sequence[str]) -> int:
    return main(["--store", str(path), *words])


def test_runs_lists_the_latest_first_and_the_next_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(path, ["runs", "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["run_id", "started", "duration_ms"]
    assert "run 3" in lines[2]
    assert "run 2" in lines[3]
    assert lines[-1] == f"next: whyspan --store {path} show 000000000000"


def test_text_from_traces_cannot_drive_the_terminal(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(path, ["runs"])
    assert "\x1b" not in capsys.readouterr().out


def test_runs_in_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(path, ["runs", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert [row["run_id"][-1] for row in document["runs"]] == ["3", "2", "1"]


def test_runs_of_an_empty_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.create(tmp_path / "s").close()
    assert run(tmp_path / "s", ["runs"]) == 0
    assert "no runs yet" in capsys.readouterr().out


def test_sql_in_three_forms(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT service, count(*) AS n FROM runs GROUP BY service"
    assert run(path, ["sql", query]) == 0
    assert capsys.readouterr().out.splitlines() == ["service  n", "-------  -", "agent    3"]
    assert run(path, ["sql", query, "--csv"]) == 0
    assert capsys.readouterr().out == "service,n\nagent,3\n"
    assert run(path, ["sql", query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"service": "agent", "n": 3}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", "SQL: Parser Error"),
        ("SELECT nope FROM runs", 'Referenced column "nope" not found'),
        ("SELECT 1; SELECT 2", "one SELECT statement is expected"),
        ("", "one SELECT statement is expected"),
        ("COPY runs TO 'x.csv'", "one SELECT statement is expected"),
        ("EXPLAIN ANALYZE COPY runs TO 'x.csv'", "one SELECT statement is expected"),
        ("CREATE TABLE t (a INT)", "one SELECT statement is expected"),
        ("SELECT * FROM read_text('/etc/passwd')", "SQL: Permission Error"),
    ],
)
def test_a_bad_query_is_one_line(path: Path, capsys: pytest.CaptureFixture[str], query: str, message: str) -> None:
    assert run(path, ["sql", query]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith("error: ")
    assert message in errors[0]
    assert errors[1].startswith("hint: ")


def test_without_a_store_the_error_names_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "none", ["runs"]) == 3
    assert "whyspan demo" in capsys.readouterr().err


def test_the_store_can_be_looked_after(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(path, ["store", "stats"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:3] == ["spans", "1", "3"]
    assert run(path, ["store", "stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][0]["rows"] == 3
    assert run(path, ["store", "verify"]) == 0
    assert capsys.readouterr().out == "the store is sound\n"
    assert run(path, ["store", "compact"]) == 0
    assert run(path, ["store", "prune", "--keep-days", "1"]) == 0


def test_a_damaged_store_is_told_by_the_exit_code(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (path / "data").glob("spans-hot-*"):
        file.unlink()
    assert run(path, ["store", "verify", "--json"]) == 3
    [problem] = json.loads(capsys.readouterr().out)["problems"]
    assert problem.endswith("is missing")


def test_a_result_can_be_written_as_parquet(path: Path, tmp_path: Path) -> None:
    assert run(path, ["sql", "SELECT span_id, attributes FROM spans", "--parquet", str(tmp_path / "out.parquet")]) == 0
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["span_id", "attributes"]
    assert run(path, ["sql", "SELECT 1", "--parquet", str(tmp_path / "no" / "out.parquet")]) == 2


def test_the_shell_answers_query_after_query(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = "SELECT count(*) AS n\nFROM runs;\nSELECT nope;\n.views\n.columns runs\n.nothing\nSELECT 2 AS last\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert run(path, ["shell"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:3] == ["n", "-", "3"]
    assert "One row a trace of an agent." in out
    assert "The trace id." in out
    assert out.splitlines()[-3:] == ["last", "----", "2"]
    assert 'Referenced column "nope"' in err
    assert "there is no .nothing" in err
