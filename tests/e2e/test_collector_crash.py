"""kill -9 in the middle of the load: whatever was acknowledged is there afterwards."""

import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from whyspan.collector.background import RunningCollector, running_collector
from whyspan.ingest.otlp import encode_traces
from whyspan.ingest.spans import Span, SpanId, TraceId
from whyspan.ingest.store import Store

CLIENTS = 4


def send_until_it_dies(endpoint: str, acknowledged: list[str]) -> None:
    with httpx.Client(base_url=endpoint, timeout=5) as client:
        while True:
            trace_id = TraceId(os.urandom(16).hex())
            spans = [
                Span(trace_id=trace_id, span_id=SpanId(f"{n:016x}"), name="x" * 500, start_ns=n, end_ns=n)
                for n in range(1, 20)
            ]
            try:
                answer = client.post(
                    "/v1/traces", content=encode_traces(spans), headers={"content-type": "application/x-protobuf"}
                )
            except httpx.TransportError:
                return
            if answer.status_code == 200:
                acknowledged.append(trace_id)


def load_and_kill(collector: RunningCollector, after: int) -> list[str]:
    """Kills the collector under load, once so many requests are acknowledged."""
    acknowledged: list[str] = []
    clients = [
        threading.Thread(target=send_until_it_dies, args=(collector.http_endpoint, acknowledged))
        for _ in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    while len(acknowledged) < after:
        time.sleep(0.01)
    collector.process.send_signal(signal.SIGKILL)
    for client in clients:
        client.join()
    return acknowledged


@pytest.mark.parametrize("round", range(5))
def test_nothing_acknowledged_is_lost(tmp_path: Path, round: int) -> None:
    with running_collector(tmp_path / "s") as collector:
        acknowledged = load_and_kill(collector, 10 + 70 * round)
    with Store.open(tmp_path / "s") as store, store.connect() as db:
        kept = dict(db.execute("SELECT trace_id, count(*) FROM spans GROUP BY ALL").fetchall())
    assert {trace_id: kept.get(trace_id) for trace_id in acknowledged} == dict.fromkeys(acknowledged, 19)
