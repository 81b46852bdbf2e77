"""Imports 50,000 Langfuse observations: how long it takes beside serving them alone, and how much memory.

    PYTHONPATH=tests/support python tests/benchmarks/importing/run.py [COUNT] [MILLISECONDS]

The server is a process of its own that has everything sorted in memory and only writes JSON. No real one is as fast:
MILLISECONDS is what a page of 500 takes it besides, to search a data base say.
"""

import base64
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from backend_server import Answer, Call
from langfuse_server import LangfuseServer
from source_cases import observation

from whyspan.ingest.sources.langfuse import open_source
from whyspan.ingest.sources.langfuse.readers import Query, V2Reader
from whyspan.ingest.sources.source import Selection, pull
from whyspan.ingest.store import Store

COUNT = 50_000
SPANS_A_RUN = 20
SYSTEM = "You are a careful assistant of a web shop. " * 20


class SortedServer(LangfuseServer):
    """Pages are slices: nothing is searched or sorted."""

    delay_s = 0.0

    def _observations(self, call: Call) -> Answer:
        time.sleep(self.delay_s)
        start = int(base64.b64decode(call.one("cursor"))) if call.one("cursor") else 0
        end = start + int(call.one("limit"))
        more = {"cursor": base64.b64encode(str(end).encode()).decode()} if end < len(self.observations) else {}
        return Answer(body={"data": self.observations[start:end], "meta": more})


def make_observation(i: int) -> dict[str, Any]:
    run, index = divmod(i, SPANS_A_RUN)
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"Question {i}: where is my parcel?"},
    ]
    answer = {"role": "assistant", "content": f"Answer {i}: it is on its way."}
    made = observation(run % 600, index % 15, input=json.dumps(messages), output=json.dumps(answer))
    return {**made, "id": f"{i + 1:016x}", "traceId": f"{run + 1:032x}"}


def serve(count: int, delay_s: float, ready: Connection) -> None:
    """Serves until the pipe is closed."""
    SortedServer.delay_s = delay_s
    with SortedServer(observations=map(make_observation, range(count))).running() as server:
        ready.send(server.url)
        try:
            ready.recv()
        except EOFError:
            return


def environ_of(url: str) -> Mapping[str, str]:
    """Returns the variables that lead to the server."""
    return {"LANGFUSE_BASE_URL": url, "LANGFUSE_PUBLIC_KEY": "pk-lf-test", "LANGFUSE_SECRET_KEY": "sk-lf-test"}


def time_serving(url: str) -> float:
    """Returns the seconds that fetching and parsing all pages takes, with nothing done to them."""
    from whyspan.ingest.remote import Remote
    from whyspan.ingest.sources.langfuse.account import langfuse_account

    begin = time.perf_counter()
    with Remote(langfuse_account(environ=environ_of(url))) as remote:
        reader, cursor = V2Reader(remote), None
        while (page := reader.observations(Query(), cursor)).cursor:
            cursor = page.cursor
    return time.perf_counter() - begin


def time_import(url: str, folder: Path) -> tuple[float, float, int]:
    """Returns (seconds, CPU seconds, spans) of the whole import, until SQL shows them."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    with Store.create(folder) as store:
        with open_source(Selection(), environ=environ_of(url)) as source:
            pull(store, source)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        with store.connect() as db:
            (spans,) = db.execute("SELECT count(*) FROM spans").fetchall()[0]
    return seconds, cpu, spans


def main(count: int, delay_s: float) -> None:
    """Prints the figures."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(count, delay_s, theirs), daemon=True)
    server.start()
    theirs.close()
    url = ours.recv()
    serving_s = time_serving(url)
    before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as folder:
        import_s, cpu_s, spans = time_import(url, Path(folder) / "store")
    after_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ours.close()
    server.join(10)
    sys.stdout.write(
        f"{spans} observations: served in {serving_s:.1f} s, imported in {import_s:.1f} s, {cpu_s:.1f} s of CPU "
        f"({import_s / serving_s:.2f}x, {spans / import_s:.0f}/s); "
        f"peak memory {after_mb:.0f} MB ({before_mb:.0f} MB before)\n"
    )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else COUNT, given[1] / 1000 if len(given) > 1 else 0.0)
