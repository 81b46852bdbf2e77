import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import whyspan
from whyspan.ingest import conventions as c
from whyspan.ingest.errors import NotFoundError, StoreError, UsageError
from whyspan.ingest.otlp import encode_logs, encode_traces
from whyspan.ingest.spans import LogRecord, Resource, Scope, Span, SpanId, StatusCode, TraceId
from whyspan.ingest.store import Store
from whyspan.ingest.store.layout import SCHEMA_VERSION, Layout
from whyspan.ingest.store.parquet import write_file
from whyspan.ingest.store.querying import open_sandbox, run_query
from whyspan.ingest.store.schema import SPANS, TABLES
from whyspan.ingest.store.views import VIEWS
from whyspan.ingest.store.wal import Frame, FrameKind, WalWriter

T0 = 1_790_000_000_000_000_000
AGENT = Resource(attributes={"service.name": "agent"})


def trace(n: int) -> TraceId:
    return TraceId(f"{n:032x}")


def make_span(trace_n: int = 1, span_n: int = 1, **over: Any) -> Span:
    start = T0 + trace_n * 10**9 + span_n
    fields: dict[str, Any] = {
        "trace_id": trace(trace_n),
        "span_id": SpanId(f"{span_n:016x}"),
        "name": "chat",
        "start_ns": start,
        "end_ns": start + 5_000_000,
        "resource": AGENT,
    }
    return Span(**{**fields, **over})


def make_call(trace_n: int = 1, span_n: int = 1, **over: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.output.messages": '[{"parts": [{"type": "tool_call", "name": "search", "arguments": {}}]}]',
        **over.pop("attributes", {}),
    }
    return make_span(trace_n, span_n, attributes=attributes, **over)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s") as store:
        yield store


def rows(store: Store, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with store.connect() as db:
        return db.execute(query, list(parameters)).fetchall()


def test_a_missing_store_is_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at") as caught:
        Store.open(tmp_path / "nothing")
    for command in ("whyspan demo", "whyspan serve", "whyspan import"):
        assert command in str(caught.value.hint)


def test_a_file_that_is_no_manifest_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.sqlite").write_bytes(b"something else entirely" * 100)
    with pytest.raises(StoreError, match="not a whyspan manifest"):
        Store.open(tmp_path)


def test_a_store_from_the_future_is_refused(store: Store) -> None:
    store._manifest._db.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")
    with pytest.raises(StoreError, match="store version 99"):
        Store.open(store.path)


def test_an_empty_store_has_empty_views(store: Store) -> None:
    for view in ("spans", "log_records", "runs", "llm_calls", "tool_calls", "decisions", "trials", "claims"):
        assert rows(store, f"SELECT * FROM {view}") == []


def test_what_was_written_is_there_at_once_and_after_reopening(store: Store) -> None:
    span, log = make_call(), LogRecord(trace_id=trace(1), time_ns=T0, body={"content": "hi"})
    store.write([span], [log])
    assert store.spans(trace(1)) == [span]
    with Store.open(store.path) as again:
        assert again.spans(trace(1)) == [span]
        assert again.logs(trace(1)) == [log]


def test_an_unknown_trace_has_no_spans(store: Store) -> None:
    assert store.spans(trace(9)) == []


def test_spans_come_in_start_order_and_logs_in_the_order_of_arrival(store: Store) -> None:
    store.write([make_span(1, 2), make_span(1, 1)], [LogRecord(trace_id=trace(1), time_ns=t, body=t) for t in (5, 3)])
    store.write([make_span(1, 3, start_ns=1)], [LogRecord(trace_id=trace(1), time_ns=4, body=4)])
    assert [int(span.span_id, 16) for span in store.spans(trace(1))] == [3, 1, 2]
    assert [log.body for log in store.logs(trace(1))] == [5, 3, 4]


def test_a_span_sent_again_is_shown_once(store: Store) -> None:
    store.write([make_span(1, 1), make_span(1, 1, name="again")])
    store.write([make_span(1, 1), make_span(1, 2)])
    assert rows(store, "SELECT span_id, name FROM spans ORDER BY 1") == [(f"{1:016x}", "chat"), (f"{2:016x}", "chat")]


def test_a_log_request_sent_again_is_shown_once_but_equal_records_are_kept(store: Store) -> None:
    twins = [LogRecord(trace_id=trace(1), time_ns=T0, body="ok")] * 2
    store.write([], twins)
    store.write([], twins)
    assert len(store.logs(trace(1))) == 2


def test_what_another_writer_acknowledged_is_visible_on_opening(store: Store) -> None:
    writer = WalWriter(store.path / "wal")
    frames = [
        Frame(kind=FrameKind.TRACES, payload=encode_traces([make_span()]), received_ns=T0),
        Frame(kind=FrameKind.LOGS, payload=encode_logs([LogRecord(trace_id=trace(1), time_ns=1)]), received_ns=T0),
    ]
    writer.append(frames)
    with Store.open(store.path) as reader:
        assert (len(reader.spans(trace(1))), len(reader.logs(trace(1)))) == (1, 1)


def test_a_frame_that_cannot_be_decoded_is_set_aside_without_harm_to_its_neighbours(store: Store) -> None:
    writer = WalWriter(store.path / "wal")
    payloads = [encode_traces([make_span(1)]), b"\xff garbage", encode_traces([make_span(2)])]
    writer.append([Frame(kind=FrameKind.TRACES, payload=p, received_ns=T0 + n) for n, p in enumerate(payloads)])
    store.refresh()
    assert store.all_trace_ids() == [trace(1), trace(2)]
    [poison] = (store.path / "quarantine").iterdir()
    assert poison.read_bytes() == b"\xff garbage"


def test_rolled_segments_without_a_writer_are_removed(store: Store) -> None:
    store.write([make_span()])
    store.close()
    Store.open(store.path).close()
    assert list((store.path / "wal").iterdir()) == []


def test_ids_are_text_so_that_equality_finds_them(store: Store) -> None:
    """DuckDB 1.5 answers equality on BLOB columns of Parquet files with no rows (duckdb #24994)."""
    store.write([make_span(t, s) for t in range(1, 40) for s in range(1, 40)])
    for n in (1, 17, 39):
        assert rows(store, "SELECT count(*) FROM spans WHERE trace_id = ?", trace(n)) == [(39,)]
        assert rows(store, f"SELECT count(*) FROM spans WHERE trace_id = '{trace(n)}'") == [(39,)]
    assert {type for _, type, *_ in rows(store, "DESCRIBE SELECT trace_id, span_id, parent_span_id FROM spans")} == {
        "VARCHAR"
    }


def test_a_model_call_has_its_columns(store: Store) -> None:
    store.write([make_call(attributes={"gen_ai.conversation.id": "c1", "gen_ai.usage.cost": 0.25})])
    columns = "model, tool_names, input_tokens, output_tokens, cost_usd, service, session_id, error, latency_ms"
    assert rows(store, f"SELECT {columns} FROM llm_calls") == [
        ("gpt-5", ["search"], 10, 2, 0.25, "agent", "c1", None, 5.0)
    ]


def test_agents_and_nested_wrappers_are_no_model_calls(store: Store) -> None:
    agent = make_span(1, 1, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99})
    wrapper = make_call(1, 2, parent_span_id=agent.span_id)
    inner = make_call(1, 3, parent_span_id=wrapper.span_id)
    silent = make_span(
        1, 4, parent_span_id=inner.span_id, attributes={"gen_ai.operation.name": "chat", "gen_ai.system": "anthropic"}
    )
    store.write([agent, wrapper, inner, silent])
    assert rows(store, "SELECT span_id FROM llm_calls") == [(inner.span_id,)]
    assert rows(store, "SELECT spans, llm_calls, input_tokens FROM runs") == [(4, 1, 10)]


def test_a_run_sums_up_its_spans(store: Store) -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    store.write(
        [
            make_span(1, 1, name="root", end_ns=T0 + 3 * 10**9),
            make_call(1, 2, parent_span_id=SpanId(f"{1:016x}")),
            make_call(1, 3, parent_span_id=SpanId(f"{1:016x}"), status_code=StatusCode.ERROR, status_message="boom"),
            make_span(1, 4, name="execute_tool search", attributes=tool, parent_span_id=SpanId(f"{1:016x}")),
        ]
    )
    columns = "run_id, name, service, spans, llm_calls, tool_calls, errors, input_tokens, output_tokens, duration_ms"
    assert rows(store, f"SELECT {columns} FROM runs") == [
        (trace(1), "root", "agent", 4, 2, 1, 1, 20, 4, pytest.approx(2000.0))
    ]
    assert rows(store, "SELECT tool_name FROM tool_calls") == [("search",)]
    assert rows(store, "SELECT error FROM llm_calls WHERE error IS NOT NULL") == [("boom",)]


def test_an_end_before_the_start_is_no_negative_duration(store: Store) -> None:
    store.write([make_span(end_ns=1)])
    assert rows(store, "SELECT duration_ms, end_ns FROM spans") == [(0.0, 1)]


def test_own_spans_are_no_runs_and_no_decisions_but_trials_and_claims(store: Store) -> None:
    call, scope = make_call(1, 1), Scope(name=c.SCOPE_NAME)
    about = {c.DECISION_TRACE_ID: call.trace_id, c.DECISION_SPAN_ID: call.span_id, c.CASE_ID: "case"}
    trial = {**about, c.KIND: c.KIND_TRIAL, c.TRIAL_SAMPLE: 3, c.TRIAL_OUTCOME: "target", c.INTERVENTION_KIND: "drop"}
    claim = {**about, c.KIND: c.KIND_CLAIM, c.CLAIM_VERDICT: "supported", c.CLAIM_EFFECT: -1, c.CLAIM_E_VALUE: 40.5}
    store.write(
        [
            call,
            make_call(2, 2, attributes=trial, scope=scope),
            make_span(1, 3, attributes=claim, scope=scope, parent_span_id=call.span_id),
        ]
    )
    assert rows(store, "SELECT run_id, spans FROM runs") == [(trace(1), 1)]
    assert rows(store, "SELECT span_id, claims FROM decisions") == [(call.span_id, 1)]
    trial_columns = "sample, outcome, intervention_kind, decision_span_id, model, input_tokens"
    assert rows(store, f"SELECT {trial_columns} FROM trials") == [(3, "target", "drop", call.span_id, "gpt-5", 10)]
    assert rows(store, "SELECT verdict, effect, e_value, case_id FROM claims") == [("supported", -1.0, 40.5, "case")]
    assert store.resolve_run("last") == trace(1)
    with pytest.raises(NotFoundError):
        store.resolve_run(trace(2))


def test_attributes_can_be_queried_by_key(store: Store) -> None:
    store.write([make_span(attributes={"a": 1, "b": ("x", b"\x00"), "c": None})])
    query = (
        "SELECT attr(attributes, 'a'), attr(attributes, 'b'), attr(attributes, 'c'), attr(attributes, 'd') FROM spans"
    )
    assert rows(store, query) == [("1", '["x",{"$bytes":"AA=="}]', None, None)]


def test_times_compare_with_now_in_utc(store: Store) -> None:
    store.write([make_span(start_ns=T0)])
    assert rows(store, "SELECT epoch_ns(started), started < now() + INTERVAL 100 YEAR FROM spans") == [(T0, True)]


def test_a_run_is_found_by_last_by_prefix_and_by_session(store: Store) -> None:
    first = TraceId("aa" + "0" * 30)
    second = TraceId("ab" + "0" * 30)
    session = {"session.id": "s-1"}
    store.write(
        [
            make_span(1, 1, trace_id=first, attributes=session, start_ns=T0),
            make_span(1, 2, trace_id=second, attributes=session, start_ns=T0 + 1000),
        ]
    )
    assert store.resolve_run("last") == second
    assert store.resolve_run("AA") == first
    assert store.resolve_run("s-1") == second
    assert store.resolve_traces("s-1") == [first, second]
    assert store.resolve_traces("last") == [second]
    with pytest.raises(UsageError, match="several runs") as ambiguous:
        store.resolve_run("a")
    assert first in str(ambiguous.value.hint)
    with pytest.raises(NotFoundError, match="no run 'zz'") as missing:
        store.resolve_run("zz")
    assert second in str(missing.value.hint)


def test_an_empty_store_says_how_to_fill_it(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no runs yet"):
        store.resolve_run("last")


def test_two_stores_on_one_folder_see_each_other(store: Store) -> None:
    with Store.open(store.path) as other:
        other.write([make_span(1)])
        store.write([make_span(2)])
        assert other.all_trace_ids() == store.all_trace_ids() == [trace(1), trace(2)]


def test_the_public_open_store_gives_the_views_and_long_text(store: Store) -> None:
    store.write([make_call(attributes={"long": "x" * 5000})])
    with whyspan.open_store(store.path) as db:
        assert db.execute("SELECT model FROM decisions").fetchall() == [("gpt-5",)]
        assert db.execute("SELECT length(attr(attributes, 'long')) FROM spans").fetchall() == [(5000,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "ATTACH '/tmp/x.duckdb'",
        "SET enable_external_access = true",
        "SELECT * FROM glob('/*')",
        "INSTALL httpfs",
    ],
)
def test_a_sandboxed_connection_reaches_nothing_else(store: Store, query: str) -> None:
    views = store.views(sandboxed=True)
    with views.db as db, pytest.raises(duckdb.Error):
        db.execute(query)


def test_a_sandboxed_connection_has_the_views(store: Store) -> None:
    store.write([make_call()])
    assert run_query(store, "SELECT count(*) FROM decisions").rows == ((1,),)


def test_a_view_is_found_however_its_name_is_written(store: Store) -> None:
    store.write([make_call()])
    assert run_query(store, 'SELECT count(*) FROM "RUNS", Spans').rows == ((1,),)


def test_a_query_that_names_no_view_sees_them_all(store: Store) -> None:
    assert {view.name for view in VIEWS} <= {name for (name,) in run_query(store, "SHOW TABLES").rows}
    with pytest.raises(UsageError) as caught:
        run_query(store, "SELECT * FROM decision")
    assert caught.value.hint == 'Did you mean "decisions"?'


def test_queries_after_the_first_name_other_views(store: Store) -> None:
    store.write([make_call()])
    with open_sandbox(store) as sandbox:
        sandbox.keep("seen", "SELECT trace_id FROM spans")
        query = "SELECT count(*) FROM runs JOIN decisions AS d ON d.trace_id = run_id SEMI JOIN seen USING (trace_id)"
        assert sandbox.select(query).rows == ((1,),)


def test_long_text_reads_the_same_in_sql(store: Store) -> None:
    text = '[{"role": "user", "content": "' + "long " * 500 + '"}]'
    log = LogRecord(trace_id=trace(1), time_ns=1, body={"content": text}, event_name="e")
    store.write([make_span(attributes={"gen_ai.input.messages": text, "short": "s"})], [log])
    assert rows(store, "SELECT attr(attributes, 'gen_ai.input.messages'), attr(attributes, 'short') FROM spans") == [
        (text, "s")
    ]
    assert rows(store, "SELECT body->>'$.content', body_kind FROM log_records") == [(text, "kvlist")]
    assert rows(store, "SELECT count(*) FROM messages WHERE contains(body, 'long long')") == [(2,)]
    query = "SELECT length(attr(attributes, 'gen_ai.input.messages')) FROM spans"
    assert run_query(store, query).rows == ((len(text),),)


def test_a_store_of_an_older_version_is_brought_up_to_date(store: Store) -> None:
    store.write([make_span()])
    store._manifest._db.execute("UPDATE meta SET value = 1 WHERE key = 'schema_version'")
    store._manifest._db.execute("DROP TABLE dropped")
    store._manifest._db.execute("ALTER TABLE files DROP COLUMN is_settled")
    with Store.open(store.path) as migrated:
        assert migrated.spans(trace(1)) == [make_span()]
        assert migrated._manifest.dropped() == {}


def test_other_columns_are_another_version() -> None:
    """Opening a store compares versions, not columns: who changes a column raises SCHEMA_VERSION and this digest."""
    columns = "".join(str(spec.schema) for spec in TABLES.values())
    assert (SCHEMA_VERSION, hashlib.sha256(columns.encode()).hexdigest()[:16]) == (3, "a3709f731f48736f")


def test_asking_a_store_does_not_load_what_writing_needs(store: Store) -> None:
    store.write([make_call()])
    store.close()
    Store.open(store.path).close()  # the segment of the writer goes
    program = """import sys
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import open_sandbox, run_query
with Store.open(sys.argv[1]) as store:
    assert run_query(store, "SELECT count(*) FROM runs").rows == ((1,),)
print({"pyarrow", "ptars", "google.protobuf"} & sys.modules.keys())"""
    done = subprocess.run([sys.executable, "-c", program, str(store.path)], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_views_have_columns_that_older_files_lack(store: Store) -> None:
    [file] = [f.path for f in store._manifest.live_files() if f.kind == "spans"]
    store._manifest.replace([file], [])
    before = SPANS.empty_table().drop_columns(["reply_text"])
    old = write_file(Layout(store.path), "spans", before, tier="schema", name="spans-schema-old")
    store._manifest.replace([], [old])
    with Store.open(store.path) as newer:
        assert rows(newer, "SELECT reply_text FROM spans") == []


def test_damage_in_the_log_is_set_aside_and_the_rest_is_kept(store: Store) -> None:
    writer = WalWriter(store.path / "wal")
    ends = [
        writer.append([Frame(kind=FrameKind.TRACES, payload=encode_traces([make_span(n)]), received_ns=n)]).offset
        for n in (1, 2, 3)
    ]
    [segment] = (store.path / "wal").iterdir()
    data = bytearray(segment.read_bytes())
    data[ends[0] + 30] ^= 0xFF
    segment.write_bytes(data)
    store.refresh()
    assert store.all_trace_ids() == [trace(1), trace(3)]
    [damaged] = (store.path / "quarantine").iterdir()
    assert len(damaged.read_bytes()) == ends[1] - ends[0]


def test_traces_gives_several_traces_at_once_as_spans_and_logs_give_each(store: Store) -> None:
    long = make_call(1, 3, attributes={"gen_ai.input.messages": '[{"role": "user", "content": "' + "x" * 5000 + '"}]'})
    store.write(
        [make_span(1, 2), make_span(1, 1), long, make_call(2, 1), make_span(3, 1)],
        [LogRecord(trace_id=trace(n), time_ns=t, body=t) for n in (1, 2) for t in (5, 3)],
    )
    wanted = [trace(2), trace(1), trace(9)]
    assert store.traces(wanted) == {t: (store.spans(t), store.logs(t)) for t in wanted}
    assert store.traces([]) == {}


def test_a_log_without_a_manifest_is_a_store(tmp_path: Path) -> None:
    """What a collector leaves behind that was killed as soon as it had acknowledged something."""
    (tmp_path / "wal").mkdir()
    payload = encode_traces([make_span()])
    WalWriter(tmp_path / "wal").append([Frame(kind=FrameKind.TRACES, payload=payload, received_ns=1)])
    with Store.open(tmp_path) as store:
        assert store.spans(trace(1)) == [make_span()]


def test_a_half_made_manifest_is_finished(tmp_path: Path) -> None:
    (tmp_path / "manifest.sqlite").touch()
    with Store.open(tmp_path) as store:
        assert store.all_trace_ids() == []


def test_many_processes_may_make_a_store_at_once(tmp_path: Path) -> None:
    program = "import sys; from whyspan.ingest.store import Store; Store.create(sys.argv[1]).close()"
    command = [sys.executable, "-c", program, str(tmp_path / "s")]
    makers = [subprocess.Popen(command) for _ in range(4)]
    assert [maker.wait(60) for maker in makers] == [0] * 4
    with Store.open(tmp_path / "s") as store:
        assert store.verify() == []
