"""Queries over many spans: a store of thirty days is written straight as Parquet, then asked."""

import random
import resource
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.benchmarks.ingest.report import say, table
from whyspan.ingest.spans import TraceId
from whyspan.ingest.store import Store
from whyspan.ingest.store.layout import Layout
from whyspan.ingest.store.parquet import write_file
from whyspan.ingest.store.schema import SPANS

_DAYS, _SPANS_PER_TRACE = 30, 50


def trace_id_of(body: bytes) -> str:
    """Returns the trace of a request's first span."""
    request = ExportTraceServiceRequest.FromString(body)
    return request.resource_spans[0].scope_spans[0].spans[0].trace_id.hex()


def measure(folder: Path, *, spans: int) -> None:
    """Prints CPU milliseconds (best of five) of a trace look-up and of queries over the last day."""
    with Store.create(folder) as store:
        traces = [id for day in range(_DAYS) for id in _write_day(store, day, spans // _DAYS)]
        table(f"Queries over {spans:,} spans in {store.stats().tables[0].files} files", "query", "CPU ms", "wall ms")
        wanted = iter(random.Random(1).sample(traces, 20))
        _report("spans of a trace by id", lambda: store.spans(TraceId(next(wanted))))
        with store.connect() as db:
            [(newest,)] = db.execute("SELECT max(started) FROM spans").fetchall()
            day = f"started > TIMESTAMP '{newest}' - INTERVAL 1 DAY"
            for name, query in (
                ("tokens, cost, errors by run, last day",
                 f"SELECT trace_id, sum(input_tokens), sum(cost_usd), count(error) FROM spans WHERE {day} GROUP BY 1"),
                ("model calls that called a tool, last day",
                 f"SELECT count(*) FROM spans WHERE {day} AND list_contains(tool_names, 'refund')"),
                ("cost by service and model, all",
                 "SELECT service, request_model, sum(cost_usd) FROM spans GROUP BY ALL"),
                ("the latest 20 runs", "SELECT * FROM runs ORDER BY started DESC LIMIT 20"),
            ):  # fmt: skip
                _report(name, partial(_ask, db, query))


def _ask(db: duckdb.DuckDBPyConnection, query: str) -> None:
    db.execute(query).fetchall()


def _report(name: str, action: Callable[[], object]) -> None:
    best = (1e9, 1e9)
    for _ in range(5):
        before, begin = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        action()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, (cpu_s, time.monotonic() - begin))
    say(f"| {name} | {best[0] * 1e3:.1f} | {best[1] * 1e3:.1f} |")


def _write_day(store: Store, day: int, count: int) -> list[str]:
    """Writes spans whose ids and times are the day's own; what they say is the same every day."""
    rnd = np.random.default_rng(day)
    traces = [rnd.bytes(16).hex() for _ in range(count // _SPANS_PER_TRACE)]
    number = len(traces) * _SPANS_PER_TRACE
    ids = rnd.bytes(8 * number).hex()
    start_ns = (1_790_000_000 + day * 86_400) * 10**9 + np.sort(rnd.integers(0, 86_400 * 10**9, number))
    columns = {
        **_content(number),
        "trace_id": pa.array(np.repeat(traces, _SPANS_PER_TRACE)),
        "span_id": pa.array([ids[at : at + 16] for at in range(0, len(ids), 16)]),
        "started": pa.array(start_ns // 1000, pa.timestamp("us")),
        "start_ns": pa.array(start_ns.astype(np.uint64)),
        "end_ns": pa.array((start_ns + 10**8).astype(np.uint64)),
    }
    arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(number, f.type) for f in SPANS]
    file = write_file(Layout(store.path), "spans", pa.Table.from_arrays(arrays, schema=SPANS), tier="day")
    store._manifest.replace([], [file])
    return traces


@cache
def _content(number: int) -> dict[str, pa.Array]:
    rnd = np.random.default_rng(0)
    is_call = rnd.random(number) < 0.3
    empty = pa.array([[]] * number, SPANS.field("attributes").type)
    return {
        "name": pa.array(np.where(is_call, "chat", "step")),
        "kind": pa.array(np.ones(number, np.int32)),
        "service": pa.array(np.char.add("agent-", rnd.integers(0, 8, number).astype(str))),
        "scope_name": pa.array(np.full(number, "lib")),
        "operation": pa.array(np.where(is_call, "chat", "step")),
        "request_model": pa.array(["gpt-5" if call else None for call in is_call], pa.string()),
        "input_tokens": pa.array(rnd.integers(0, 9000, number)),
        "cost_usd": pa.array(rnd.random(number)),
        "tool_names": pa.array([["refund"] if x < 0.01 else [] for x in rnd.random(number)], pa.list_(pa.string())),
        "error": pa.array(["boom" if x < 0.02 else None for x in rnd.random(number)], pa.string()),
        "has_content": pa.array(is_call),
        "attributes": empty,
        "events": pa.array([[]] * number, SPANS.field("events").type),
        "links": pa.array([[]] * number, SPANS.field("links").type),
        "resource": pa.array(np.full(number, "{}")),
        "scope": pa.array(np.full(number, "{}")),
        **{name: pa.array(np.zeros(number, np.int32)) for name in ("status_code", "flags")},
    }
