"""What rebuilding costs in CPU: a call at the median of the captures, and how it grows with the history.

Run: `pytest tests/benchmarks/rebuild -s`.
"""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from captures import CAPTURES, load

from whyspan.ingest.rebuild import rebuild_calls
from whyspan.ingest.spans import Span, SpanId, TraceId


def cpu_ms(work: Callable[[], Any], repeats: int = 5) -> float:
    """Returns the least CPU time of some runs, in milliseconds."""

    def once() -> float:
        start = time.process_time()
        work()
        return (time.process_time() - start) * 1e3

    return min(once() for _ in range(repeats))


def long_history(turns: int) -> Span:
    messages: list[dict[str, Any]] = [{"role": "system", "parts": [{"type": "text", "content": "s" * 500}]}]
    for i in range(turns):
        call = {"type": "tool_call", "id": f"c{i}", "name": "f", "arguments": {"a": i}}
        answer = {"type": "tool_call_response", "id": f"c{i}", "response": "r" * 200}
        messages += [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [answer]}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(messages),
    }
    ids: dict[str, Any] = {"trace_id": TraceId("a" * 32), "span_id": SpanId("b" * 16)}
    return Span(**ids, name="chat", start_ns=1, end_ns=2, attributes=attributes)


def test_a_call_costs_at_most_a_millisecond_at_the_median() -> None:
    costs = []
    for capture in CAPTURES:
        spans, logs = load(capture)
        calls = len(rebuild_calls(spans, logs))
        costs += [cpu_ms(lambda s=spans, r=logs: rebuild_calls(s, r)) / calls] * calls  # type: ignore[misc]
    median = statistics.median(costs)
    print(f"{median:.2f} ms of CPU a call at the median of {len(costs)}")  # noqa: T201
    assert median <= 1.0


def test_cost_grows_linearly_with_the_history() -> None:
    few, many = long_history(200), long_history(3200)
    ratio = cpu_ms(lambda: rebuild_calls([many], [])) / cpu_ms(lambda: rebuild_calls([few], []))
    print(f"16 times the history costs {ratio:.1f} times as much")  # noqa: T201
    assert ratio < 16 * 1.7
