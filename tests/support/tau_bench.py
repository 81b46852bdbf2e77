"""τ-bench trajectories as the spans and scores that an instrumented agent would have sent.

An agent span a run, a model span an assistant turn with the whole conversation up to it (OTel GenAI conventions), a
tool span a tool call, and the reward as an evaluation result of the run. What the trajectories do not have (tokens,
tool definitions, settings) is not made up, except for the times, which a span cannot be without.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whyspan.ingest.otlp import encode_logs, encode_traces
from whyspan.ingest.spans import LogRecord, Resource, Scope, Span, SpanId, SpanKind, TraceId
from whyspan.ingest.store import Store

DATA = Path(__file__).parents[3] / "shared/data/tau_bench/gpt-4o-airline.json"
WEEK_NS = 7 * 86_400 * 10**9
T0 = 1_767_571_200_000_000_000
"""Monday, 5 January 2026, 00:00 UTC."""
TURN_NS = 4 * 10**9
SCOPE = Scope(name="tau-bench")
AGENT = Resource(attributes={"service.name": "airline-agent"})

Run = Mapping[str, Any]


def load_runs() -> list[Run]:
    """Returns the trajectories of the file."""
    runs: list[Run] = json.loads(DATA.read_text())
    return runs


def spans_of(run: Run, *, number: int, week: int) -> tuple[list[Span], LogRecord]:
    """Returns a run's spans and its score, as of the `number`-th run of a week."""
    seed = f"{run['task_id']}/{run['trial']}/{number}/{week}"
    trace_id = TraceId(hashlib.sha256(seed.encode()).hexdigest()[:32])
    start = T0 + week * WEEK_NS + number * 600 * 10**9
    root = _id(seed, "agent")
    spans = list(_turns(run["traj"], trace_id, root, seed, start))
    end = spans[-1].end_ns
    agent = _span(trace_id, root, None, "invoke_agent airline", start, end, {"gen_ai.operation.name": "invoke_agent"})
    score: dict[str, str | float] = {
        "gen_ai.evaluation.name": "reward",
        "gen_ai.evaluation.score.value": float(run["reward"]),
    }
    judged = LogRecord(
        trace_id=trace_id, span_id=root, time_ns=end, event_name="gen_ai.evaluation.result", attributes=score,
        resource=Resource(attributes={"service.name": "tau-bench"}), scope=SCOPE,
    )  # fmt: skip
    return [agent, *spans], judged


def _turns(
    messages: Sequence[Mapping[str, Any]], trace_id: TraceId, root: SpanId, seed: str, start: int
) -> Iterator[Span]:
    heard: list[dict[str, Any]] = []
    at = start
    for position, message in enumerate(messages):
        said = _message(message)
        if message["role"] == "assistant":
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-4o",
                "gen_ai.input.messages": json.dumps(heard),
                "gen_ai.output.messages": json.dumps([said]),
            }
            span_id = _id(seed, f"chat {position}")
            yield _span(trace_id, span_id, root, "chat gpt-4o", at, at + TURN_NS, attributes, kind=SpanKind.CLIENT)
            at += TURN_NS
        elif message["role"] == "tool":
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": message["name"],
                "gen_ai.tool.call.result": message["content"],
            }
            span_id = _id(seed, f"tool {position}")
            yield _span(trace_id, span_id, root, f"execute_tool {message['name']}", at, at + TURN_NS // 10, attributes)
            at += TURN_NS // 10
        heard.append(said)


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = []
    if message.get("content"):
        parts.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = json.loads(function["arguments"])
        parts.append({"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": arguments})
    return {"role": message["role"], "parts": parts}


def _span(
    trace_id: TraceId,
    span_id: SpanId,
    parent: SpanId | None,
    name: str,
    start: int,
    end: int,
    attributes: Mapping[str, Any],
    *,
    kind: SpanKind = SpanKind.INTERNAL,
) -> Span:
    return Span(
        trace_id=trace_id, span_id=span_id, parent_span_id=parent, name=name, kind=kind, start_ns=start, end_ns=end,
        attributes=attributes, resource=AGENT, scope=SCOPE,
    )  # fmt: skip


def _id(seed: str, name: str) -> SpanId:
    return SpanId(hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()[:15] + "1")


def week_of(runs: Sequence[Run], week: int) -> tuple[list[Span], list[LogRecord]]:
    """Returns the spans and scores of all trajectories, as of one week."""
    told = [spans_of(run, number=number, week=week) for number, run in enumerate(runs)]
    return [span for spans, _ in told for span in spans], [score for _, score in told]


def write_weeks(path: Path, weeks: int) -> int:
    """Writes the trajectories into a store, all of them in each week; returns the number of runs."""
    runs = load_runs()
    with Store.create(path) as store:
        for week in range(weeks):
            store.write(*week_of(runs, week))
    return weeks * len(runs)


def write_otlp(folder: Path, weeks: int) -> int:
    """Writes them as files of OTLP protobuf, for `whyspan import otlp`; returns the number of runs."""
    runs = load_runs()
    folder.mkdir(parents=True, exist_ok=True)
    for week in range(weeks):
        spans, scores = week_of(runs, week)
        (folder / f"week-{week:02}.traces.pb").write_bytes(encode_traces(spans))
        (folder / f"week-{week:02}.logs.pb").write_bytes(encode_logs(scores))
    return weeks * len(runs)
