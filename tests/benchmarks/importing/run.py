"""Imports Langfuse observations: the time beside that of serving them alone, and the memory.

    PYTHONPATH=tests/support python tests/benchmarks/importing/run.py [COUNT…]

Two servers, each a process of its own. One has ready-made answers sorted in memory and only writes JSON: no real one is
as fast. The other does what a real one must: it searches an index in SQLite for every page, reads the rows, puts
together the fields that were asked for, and writes JSON.
"""

import base64
import json
import multiprocessing
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from backend_server import Answer, Call
from langfuse_server import LangfuseServer, projected
from source_cases import observation

from whyspan.ingest.remote import Remote
from whyspan.ingest.sources.langfuse import open_source
from whyspan.ingest.sources.langfuse.account import langfuse_account
from whyspan.ingest.sources.langfuse.readers import Query, V2Reader
from whyspan.ingest.sources.pulling import pull
from whyspan.ingest.sources.source import Selection
from whyspan.ingest.store import Store

COUNTS = (50_000, 100_000, 200_000)
SPANS_A_RUN = 12
SYSTEM = "You are a careful assistant of a web shop. " * 20
_JSON = ("metadata", "modelParameters", "usageDetails", "costDetails", "tags")
_SPAWN = multiprocessing.get_context("spawn")


class MemoryServer(LangfuseServer):
    """Pages are slices of a list: nothing is searched, sorted or put together."""

    def _observations(self, call: Call) -> Answer:
        start = int(base64.b64decode(call.one("cursor"))) if call.one("cursor") else 0
        end = start + int(call.one("limit"))
        more = {"cursor": _cursor(end)} if end < len(self.observations) else {}
        return Answer(body={"data": self.observations[start:end], "meta": more})


class SqliteServer(LangfuseServer):
    """Pages are read from a table, by an index."""

    def __init__(self, *, observations: Iterable[Mapping[str, Any]]) -> None:
        super().__init__()
        rows = ({k: json.dumps(v) if k in _JSON else v for k, v in o.items()} for o in observations)
        first = next(rows)
        self._fields = list(first)
        columns, marks = ",".join(self._fields), ",".join("?" * len(first))
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "langfuse.sqlite"
        with closing(sqlite3.connect(self._path)) as db, db:
            db.execute(f"CREATE TABLE observations ({columns})")
            db.execute(f"INSERT INTO observations VALUES ({marks})", list(first.values()))
            db.executemany(f"INSERT INTO observations VALUES ({marks})", (list(row.values()) for row in rows))
            db.execute("CREATE INDEX by_time ON observations (startTime, id)")

    def _observations(self, call: Call) -> Answer:
        fields = call.one("fields").split(",")
        last = json.loads(base64.b64decode(call.one("cursor"))) if call.one("cursor") else ["9", ""]
        query = "SELECT * FROM observations WHERE (startTime, id) < (?, ?) ORDER BY startTime DESC, id DESC LIMIT ?"
        with closing(sqlite3.connect(self._path)) as db:
            rows = [dict(zip(self._fields, row, strict=True)) for row in db.execute(query, (*last, call.one("limit")))]
        for row in rows:
            row |= {field: json.loads(row[field]) for field in _JSON}
        expanded = set(call.one("expandMetadata").split(","))
        more = (
            {"cursor": _cursor([rows[-1]["startTime"], rows[-1]["id"]])} if len(rows) == int(call.one("limit")) else {}
        )
        return Answer(body={"data": [projected(row, fields, expanded) for row in rows], "meta": more})


SERVERS: Mapping[str, Callable[..., LangfuseServer]] = {"in memory": MemoryServer, "SQLite": SqliteServer}


def _cursor(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def make_observation(i: int) -> dict[str, Any]:
    run, index = divmod(i, SPANS_A_RUN)
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"Question {i}: where is my parcel?"},
    ]
    answer = {"role": "assistant", "content": f"Answer {i}: it is on its way."}
    made = observation(run % 600, index, input=json.dumps(messages), output=json.dumps(answer))
    return {**made, "id": f"{i + 1:016x}", "traceId": f"{run + 1:032x}"}


def serve(name: str, count: int, ready: Connection) -> None:
    """Serves until the pipe is closed, and tells the CPU seconds it has taken when asked."""
    with SERVERS[name](observations=map(make_observation, range(count))).running() as server:
        ready.send(server.url)
        try:
            while True:
                ready.recv()
                ready.send(time.process_time())
        except EOFError:
            return


@dataclass
class Running:
    """A server in a process of its own."""

    url: str
    pipe: Connection

    def cpu_s(self) -> float:
        """Returns the CPU seconds it has taken."""
        self.pipe.send(None)
        seconds: float = self.pipe.recv()
        return seconds


@contextmanager
def serving(name: str, count: int) -> Iterator[Running]:
    """Gives a server that runs as long as the block."""
    ours, theirs = _SPAWN.Pipe()
    server = _SPAWN.Process(target=serve, args=(name, count, theirs), daemon=True)
    server.start()
    theirs.close()
    try:
        yield Running(ours.recv(), ours)
    finally:
        ours.close()
        server.join(10)


def environ_of(url: str) -> Mapping[str, str]:
    """Returns the variables that lead to the server."""
    return {"LANGFUSE_BASE_URL": url, "LANGFUSE_PUBLIC_KEY": "pk-lf-test", "LANGFUSE_SECRET_KEY": "sk-lf-test"}


def time_serving(server: Running) -> tuple[float, float]:
    """Returns (seconds, CPU seconds of server and client) of fetching and parsing all pages and nothing more."""
    begin, begin_cpu = time.perf_counter(), time.process_time() + server.cpu_s()
    with Remote(langfuse_account(environ=environ_of(server.url))) as remote:
        reader, cursor = V2Reader(remote), None
        while (page := reader.observations(Query(), cursor)).cursor:
            cursor = page.cursor
    return time.perf_counter() - begin, time.process_time() + server.cpu_s() - begin_cpu


class Imported(NamedTuple):
    """An import in figures, until SQL shows everything."""

    seconds: float
    cpu_s: float
    spans: int
    before_mb: float
    peak_mb: float


def measure_import(url: str, ours: Connection) -> None:
    """Imports in this process, and sends the figures."""
    before_mb = _peak_mb()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "store") as store:
        with open_source(Selection(), environ=environ_of(url)) as source:
            pull(store, source)
        seconds, cpu_s = time.perf_counter() - begin, time.process_time() - begin_cpu
        with store.connect() as db:
            (spans,) = db.execute("SELECT count(*) FROM spans").fetchall()[0]
    ours.send(Imported(seconds, cpu_s, spans, before_mb, _peak_mb()))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def imported(url: str) -> Imported:
    """Returns the figures of an import in a process of its own."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=measure_import, args=(url, theirs))
    process.start()
    theirs.close()
    figures: Imported = ours.recv()
    process.join()
    return figures


def main(counts: Iterable[int]) -> None:
    """Prints the figures."""
    for name in SERVERS:
        for count in counts:
            with serving(name, count) as server:
                served_s, served_cpu_s = min(time_serving(server) for _ in range(2))
                before_s = server.cpu_s()
                done = imported(server.url)
                cpu_s = done.cpu_s + server.cpu_s() - before_s
            sys.stdout.write(
                f"{name}, {done.spans} observations: served in {served_s:.1f} s ({served_cpu_s:.1f} s CPU), imported "
                f"in {done.seconds:.1f} s ({cpu_s:.1f} s CPU, {done.cpu_s:.1f} of it ours): clock "
                f"{done.seconds / served_s:.2f}x, CPU {cpu_s / served_cpu_s:.2f}x; peak memory {done.peak_mb:.0f} MB "
                f"({done.before_mb:.0f} MB before), load {os.getloadavg()[0]:.1f}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or COUNTS)
