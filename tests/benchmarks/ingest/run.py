"""Measures the collector and the store, beside rotel and Phoenix where their binaries are given.

    python -m tests.benchmarks.ingest.run [--rotel PATH/rotel-agent] [--phoenix PATH/phoenix] [PART…]

Parts: acknowledge, pipeline, clients, latency, disk, kill, query, lists, soak (default: all but the last three).
Wall time says little on a busy machine; costs are CPU time of the server's processes, and ratios are taken within one
run.
"""

import argparse
import http.client
import itertools
import random
import shutil
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tests.benchmarks.ingest import queries
from tests.benchmarks.ingest.load import h2load, send_all
from tests.benchmarks.ingest.payloads import Payload, agent_run, genai, small, trace_id_of
from tests.benchmarks.ingest.report import say, table
from tests.benchmarks.ingest.stores import write_store
from tests.benchmarks.ingest.systems import System, running
from whyspan.ingest.store import Store

ROUNDS = 2
_OLD_NS = 1_790_000_000_000_000_000
"""A day that is over: its files are merged for good."""


class Bench:
    """The parts, sharing payloads, binaries and a scratch folder."""

    def __init__(
        self, scratch: Path, rotel: Path | None, phoenix: Path | None, store: Path | None, scale: float
    ) -> None:
        self.scratch = scratch
        self.store = store
        self.peers = {"rotel": rotel, "phoenix": phoenix}
        self.scale = scale
        self._numbers = itertools.count()
        rnd = random.Random(7)
        self.small = [small(rnd, n) for n in range(round(240 * scale))]
        self.genai = [genai(rnd, n) for n in range(round(240 * scale))]

    def system(self, name: str) -> AbstractContextManager[System]:
        """Returns a context manager that runs a system in a fresh folder."""
        # A folder each: a roller whose collector was killed is still busy with the last one.
        return running(name, self.scratch / f"{name}-{next(self._numbers)}", binary=self.peers.get(name))

    def acknowledge(self) -> None:
        """CPU per acknowledged request: ours is durable, rotel's is in memory."""
        table("Acknowledgement: CPU ms per request", "payload", "protocol", "whyspan", "rotel", "ratio")
        costs: dict[tuple[str, str, bool], list[float]] = {}
        names = ["whyspan", *(["rotel"] if self.peers["rotel"] else [])]
        for _ in range(ROUNDS):
            for name in names:
                with self.system(name) as system:
                    for kind, payload in (("small", self.small[0]), ("genai", self.genai[0])):
                        for grpc in (True, False):
                            costs.setdefault((kind, name, grpc), []).append(self._ack_ms(system, payload, grpc=grpc))
        for kind in ("small", "genai"):
            for grpc in (True, False):
                own = min(costs[kind, "whyspan", grpc])
                peer = min(costs.get((kind, "rotel", grpc), [float("nan")]))
                say(f"| {kind} | {'gRPC' if grpc else 'HTTP'} | {own:.2f} | {peer:.2f} | {own / peer:.2f} |")

    def _ack_ms(self, system: System, payload: Payload, *, grpc: bool, clients: int = 16, requests: int = 600) -> float:
        """Returns the cost in the receiving process alone: what it costs to be safe, not to be queryable."""
        h2load(system, payload.body, max(40, clients), clients=clients, grpc=grpc, scratch=self.scratch)
        before = system.cpu_s_of_main()
        answered, _ = h2load(system, payload.body, requests, clients=clients, grpc=grpc, scratch=self.scratch)
        if answered != requests:
            raise SystemExit(f"{system.name}: {requests - answered} of {requests} requests were not accepted")
        return (system.cpu_s_of_main() - before) / requests * 1e3

    def pipeline(self) -> None:
        """From the client's bytes to queryable rows: spans per CPU second."""
        table(
            "Until queryable: spans per CPU second",
            "payload",
            "system",
            "acknowledged in s",
            "queryable in s",
            "spans/CPU-s",
            "MB",
        )
        for kind in ("genai", "small"):
            results = {}
            for name in ["whyspan", *(["phoenix"] if self.peers["phoenix"] else [])]:
                payloads = getattr(self, kind)
                if name == "phoenix":
                    payloads = payloads[: max(1, len(payloads) // (8 if kind == "genai" else 30))]
                with self.system(name) as system:
                    results[name] = self._until_queryable(system, payloads)
                acked, queryable, rate, memory = results[name]
                say(f"| {kind} | {name} | {acked:.1f} | {queryable:.1f} | {rate:,.0f} | {memory} |", flush=True)
            if "phoenix" in results:
                say(f"| {kind} | ratio | | | {results['whyspan'][2] / results['phoenix'][2]:.0f}x | |")

    def _until_queryable(self, system: System, payloads: Sequence[Payload]) -> tuple[float, float, float, str]:
        send_all(system.http_port, [small(random.Random(1), 10_000)])
        while system.stored_spans() < 512:
            time.sleep(0.1)
        base, spans = system.stored_spans(), sum(payload.spans for payload in payloads)
        cpu_s, begin = system.cpu_s(), time.monotonic()
        send_all(system.http_port, payloads)
        acked_s = time.monotonic() - begin
        while system.stored_spans() < base + spans:
            time.sleep(0.05)
            if time.monotonic() - begin > 400:
                raise SystemExit(f"{system.name}: {system.stored_spans() - base} of {spans} after 400 s")
        queryable_s = time.monotonic() - begin
        memory = " + ".join(f"{mb:.0f}" for mb in system.memory_mb())
        return acked_s, queryable_s, spans / (system.cpu_s() - cpu_s), memory

    def clients(self) -> None:
        """The same work from 1, 8 and 64 clients."""
        table("Acknowledged spans per CPU second of the receiver, by clients (gRPC)", "payload", "1", "8", "64")
        with self.system("whyspan") as system:
            for kind, payload in (("small", self.small[0]), ("genai", self.genai[0])):
                costs = [self._ack_ms(system, payload, grpc=True, clients=n, requests=320) for n in (1, 8, 64)]
                say(f"| {kind} | " + " | ".join(f"{payload.spans / cost * 1e3:,.0f}" for cost in costs) + " |")

    def latency(self) -> None:
        """Acknowledgement with four clients, and the time until a span shows in SQL."""
        with self.system("whyspan") as system:
            latencies = sorted(send_all(system.http_port, self.genai[:200]))
            visible = sorted(self._visible_s(system, n) for n in range(20))
        p50_s, p95_s = statistics.median(latencies), latencies[int(len(latencies) * 0.95)]
        say(f"\nacknowledged: p50 {p50_s * 1e3:.0f} ms, p95 {p95_s * 1e3:.0f} ms")
        say(f"visible in SQL after that: p50 {statistics.median(visible):.2f} s, p95 {visible[-2]:.2f} s")

    def _visible_s(self, system: System, number: int) -> float:
        before = system.stored_spans()
        send_all(system.http_port, [small(random.Random(100 + number), 20_000 + number)])
        begin = time.monotonic()
        while system.stored_spans() < before + 512:
            time.sleep(0.02)
        return time.monotonic() - begin

    def disk(self) -> None:
        """Bytes of a run in the store, against OTLP on the wire."""
        table("Bytes per run", "run", "wire KB", "store KB", "times smaller")
        for turns, result, runs in ((50, 3_000, 8), (120, 16_000, 3)):
            payloads = [
                p for n in range(runs) for p in agent_run(random.Random(n), turns, tool_result=result, start_ns=_OLD_NS)
            ]
            with self.system("whyspan") as system:
                base = system.stored_spans()
                send_all(system.http_port, payloads, clients=1)
                while system.stored_spans() < base + sum(p.spans for p in payloads):
                    time.sleep(0.1)
            with Store.open(system.folder / "s") as store:
                store.compact()
                stored = sum(table.bytes for table in store.stats().tables) / runs / 1e3
            wire = sum(len(p.body) for p in payloads) / runs / 1e3
            say(f"| {turns} turns | {wire:,.0f} | {stored:,.0f} | {wire / stored:.0f}x |")

    def kill(self) -> None:
        """kill -9 under load, again and again: acknowledged spans that are missing afterwards."""
        rounds, acked_total, lost = round(100 * self.scale), 0, 0
        for number in range(rounds):
            acked, found = self._kill_round(number)
            acked_total += len(acked)
            lost += len(acked - found)
        say(f"\nkill -9: {rounds} rounds, {acked_total:,} requests acknowledged, {lost} lost")

    def _kill_round(self, number: int) -> tuple[set[str], set[str]]:
        rnd, acked = random.Random(number), set[str]()
        with self.system("whyspan") as system:

            def send(seed: int) -> None:
                own, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", system.http_port)
                while True:
                    payload = agent_run(own, 1)[0]
                    trace_id = trace_id_of(payload.body)
                    try:
                        connection.request(
                            "POST", "/v1/traces", payload.body, {"content-type": "application/x-protobuf"}
                        )
                        answer = connection.getresponse()
                        answer.read()
                    except (OSError, http.client.HTTPException):
                        return
                    if answer.status == 200:
                        acked.add(trace_id)

            threads = [threading.Thread(target=send, args=(number * 10 + n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(rnd.uniform(0.2, 1.5))
            system.process.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
        with Store.open(system.folder / "s") as store:
            return acked, set(store.all_trace_ids())

    def query(self) -> None:
        """Look-ups and summaries over ten million spans of thirty days."""
        queries.measure(self._large_store(10_000_000))

    def lists(self) -> None:
        """The commands that list something, on a million spans."""
        queries.measure_lists(self._large_store(1_000_000))

    def _large_store(self, spans: int) -> Path:
        if self.store is not None:
            return self.store
        folder = self.scratch / f"store-{next(self._numbers)}"
        write_store(folder, spans=round(spans * self.scale))
        return folder

    def soak(self) -> None:
        """Ten minutes at full load: memory of the receiver and the roller."""
        minutes = 10 * self.scale
        table("Soak: MB of receiver and roller", "minute", "receiver", "roller", "requests sent")
        with self.system("whyspan") as system:
            begin, next_report, number = time.monotonic(), 0.0, 0
            while time.monotonic() - begin < minutes * 60:
                rnd = random.Random(number)
                send_all(
                    system.http_port, [genai(rnd, number * 8 + n) for n in range(8)] + [small(rnd, number)], clients=8
                )
                number += 1
                if time.monotonic() - begin > next_report * 60:
                    memory = system.memory_mb()
                    say(f"| {next_report:.0f} | {memory[0]:.0f} | {memory[1]:.0f} | {number * 9} |", flush=True)
                    next_report += 1


def main() -> None:
    """Runs the parts asked for."""
    parts: dict[str, Callable[[Bench], None]] = {
        name: getattr(Bench, name)
        for name in ("acknowledge", "pipeline", "clients", "latency", "disk", "kill", "query", "lists", "soak")
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts)[:-3])
    parser.add_argument("--rotel", type=Path)
    parser.add_argument("--phoenix", type=Path)
    parser.add_argument("--store", type=Path, help="For query and lists: this store instead of a new one.")
    parser.add_argument("--scale", type=float, default=1.0, help="Of payload counts, rounds and minutes.")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="whyspan-bench-"))
    try:
        bench = Bench(scratch, arguments.rotel, arguments.phoenix, arguments.store, arguments.scale)
        for part in arguments.parts:
            parts[part](bench)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
