"""Questions to large stores: through a connection, and as the commands that list something."""

import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from tests.benchmarks.ingest.report import say, table
from whyspan.ingest.store import Store

LISTS = (
    "runs",
    "decisions",
    "decisions --json",
    "triage",
    "calls last",
    "show last",
    "jobs list",
    "jobs history",
    "query cost_by_model_and_week",
    "query decisions_like tool=refund",
    "query incomplete_decisions",
    "query slowest_runs",
    "query tools_by_error_rate",
    "query causes_by_source",
    "query fixes_by_verdict",
    "query job_spending",
    "mission status",
    "store stats",
)


def measure(folder: Path) -> None:
    """Prints CPU milliseconds (best of five) of a trace look-up and of queries over the last day."""
    with Store.open(folder) as store:
        spans = store.stats().tables[0]
        table(f"Queries over {spans.rows:,} spans in {spans.files} files", "query", "CPU ms", "wall ms")
        wanted = iter(random.Random(1).sample(store.all_trace_ids(), 20))
        _report("spans of a trace by id", lambda: store.spans(next(wanted)))
        _report("a connection with all views", lambda: store.connect().close())
        with store.connect() as db:
            [(newest,)] = db.execute("SELECT max(started) FROM spans").fetchall()
            day = f"started > TIMESTAMP '{newest}' - INTERVAL 1 DAY"
            for name, query in (
                ("tokens, cost, errors by run, last day",
                 f"SELECT trace_id, sum(input_tokens), sum(cost_usd), count(error) FROM spans WHERE {day} GROUP BY 1"),
                ("the same, nested calls counted once",
                 f"SELECT run_id, input_tokens, cost_usd, errors FROM runs WHERE {day}"),
                ("model calls that called a tool, last day",
                 f"SELECT count(*) FROM llm_calls WHERE {day} AND list_contains(tool_names, 'refund')"),
                ("cost by service and model, all",
                 "SELECT service, model, sum(cost_usd) FROM llm_calls GROUP BY ALL"),
                ("the latest 20 decisions", "SELECT * FROM unscored_decisions ORDER BY started DESC LIMIT 20"),
                ("the latest 20 runs", "SELECT * FROM runs ORDER BY started DESC LIMIT 20"),
            ):  # fmt: skip
                _report(name, partial(_ask, db, query))


def measure_lists(folder: Path) -> None:
    """Prints what each command that lists something takes, from the start of the process (best of three)."""
    with Store.open(folder) as store:
        spans = store.stats().tables[0].rows
    table(f"List commands on {spans:,} spans", "command", "CPU s", "wall s")
    for words in LISTS:
        cpu_s, wall_s = min(_timed(folder, words) for _ in range(3))
        say(f"| {words} | {cpu_s:.2f} | {wall_s:.2f} |")


def _timed(store: Path, words: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "whyspan", "--store", str(store), *words.split()]
    before, begin = os.times(), time.monotonic()
    subprocess.run(command, cwd=store, capture_output=True, check=True)
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu_s, time.monotonic() - begin


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
