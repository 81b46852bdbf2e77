"""Measures what the engine itself costs: `python tests/benchmarks/replay/run.py [overhead|throughput|memory]`.

The model is a fake in this process, so that nothing but the engine is measured. Results are printed as JSON lines.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import orjson

from whyspan.analysis.cases import Case
from whyspan.analysis.experiment import Experiment
from whyspan.analysis.interventions import Drop, Noop
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.providers.openai_chat import OpenAIChatWire, decode_completions
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.segments import segment
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api, Body

MESSAGES = 200
SENTENCES = 8
REPLY = {
    "id": "r",
    "model": "fake",
    "choices": [{"message": {"role": "assistant", "content": "Here is what I found."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 6},
}


class FakeModel:
    """Writes and reads as the HTTP provider does, and waits instead of sending."""

    endpoint = "http://fake"
    batch = 1

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._wire = OpenAIChatWire()

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        """One reply, after encoding the request and decoding the answer."""
        orjson.dumps(self._wire.encode(request, count))
        await asyncio.sleep(self._wait_s)
        return decode_completions(REPLY)

    async def aclose(self) -> None:
        """Nothing to release."""


def conversation(messages: int = MESSAGES) -> Body:
    """A run of tool calls and results, about 700 bytes a message."""
    body: list[object] = [{"role": "system", "content": "You are an agent. Be careful."}]
    for n in range(messages // 2):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "search", "arguments": f'{{"query": "q{n}"}}'}}
        text = " ".join(
            f"Result {n} has a sentence numbered {i} that says something at length." for i in range(SENTENCES)
        )
        body += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        body += [{"role": "tool", "tool_call_id": f"c{n}", "content": text}]
    return {"model": "fake", "messages": body}


async def overhead(calls: int = 300) -> dict[str, float]:
    """CPU of one call with a request of its own, from the removal to the stored trial."""
    with tempfile.TemporaryDirectory() as folder:
        case = Case(api=Api.OPENAI_CHAT, request=conversation(), target=parse_target("no-tool"))
        cut = segment(case.api, case.request)
        engine = ReplayEngine(FakeModel(0), SqliteReplyStore(Path(folder) / "r.sqlite"), Budget(10**9))
        experiment = Experiment(case=case, engine=engine, stream="why")
        await experiment.draw(Noop(), 1)
        start = time.process_time()
        for n in range(calls):
            removal = frozenset({n + 50})
            await experiment.draw(Drop.of(cut, removal), 1, request=cut.without(removal))
        cpu = (time.process_time() - start) / calls
    return {"messages": MESSAGES, "bytes": len(orjson.dumps(case.request)), "cpu_ms_per_call": cpu * 1e3}


async def throughput(calls: int = 25_000, wait_s: float = 0.02, concurrency: int = 256) -> dict[str, float]:
    """Time of many calls against the time that waiting alone would take."""
    with tempfile.TemporaryDirectory() as folder:
        replies = SqliteReplyStore(Path(folder) / "r.sqlite")
        case = Case(api=Api.OPENAI_CHAT, request=conversation(10), target=parse_target("no-tool"))
        cut = segment(case.api, case.request)
        engine = ReplayEngine(FakeModel(wait_s), replies, Budget(10**9), concurrency=concurrency)
        experiment = Experiment(case=case, engine=engine, stream="why")
        groups = range(25)
        orders = [(Drop.of(cut, frozenset({g})), calls // 25, cut.without({g})) for g in groups]
        start, cpu = time.perf_counter(), time.process_time()
        await experiment.draw_all(orders)
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
    ideal = calls * wait_s / concurrency
    return {"calls": experiment.drawn, "seconds": took, "cpu_seconds": cpu, "ratio_to_ideal": took / ideal}


async def memory() -> dict[str, float]:
    """Growth of the process with ten times the trials."""
    sizes = []
    for calls in (5_000, 50_000):
        with tempfile.TemporaryDirectory() as folder:
            replies = SqliteReplyStore(Path(folder) / "r.sqlite")
            case = Case(api=Api.OPENAI_CHAT, request=conversation(10), target=parse_target("no-tool"))
            engine = ReplayEngine(FakeModel(0), replies, Budget(10**9), concurrency=256)
            experiment = Experiment(case=case, engine=engine, stream="why")
            for _ in range(calls // 500):
                await experiment.draw(Noop(), 500)
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return {"mb_after_5k": sizes[0], "mb_after_55k": sizes[1], "growth_mb": sizes[1] - sizes[0]}


BENCHMARKS = {"overhead": overhead, "throughput": throughput, "memory": memory}


def main() -> None:
    """Runs the benchmarks named, or all."""
    for name in sys.argv[1:] or BENCHMARKS:
        result = asyncio.run(BENCHMARKS[name]())
        sys.stdout.write(json.dumps({"benchmark": name, **{k: round(v, 3) for k, v in result.items()}}) + "\n")


if __name__ == "__main__":
    main()
