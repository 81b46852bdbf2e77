"""Stores of many agent runs, written straight as Parquet, as sending so many takes long, and compacted day by day.

A run has fifty spans: an agent and sixteen turns of three, the model call as the framework tells it, the same call as
the SDK inside it tells it, and the tool that it called.
"""

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whyspan.ingest.store import Store
from whyspan.ingest.store.layout import Layout
from whyspan.ingest.store.parquet import write_file
from whyspan.ingest.store.schema import MESSAGES, SPANS

DAYS, SPANS_PER_RUN, TURNS = 30, 50, 16
_DAY_NS = 86_400 * 10**9
_SPAN_NS = 200_000_000
_ROOT, _OUTER, _INNER, _TOOL, _OTHER = range(5)
_PATTERN = np.array([_ROOT, *[_OUTER, _INNER, _TOOL] * TURNS, _OTHER])
_CALLS = (_OUTER, _INNER)
_PAIRS = {
    _ROOT: (("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", "desk")),
    _OUTER: (("gen_ai.operation.name", "chat"), ("gen_ai.request.model", "gpt-5"), ("gen_ai.input.messages", None)),
    _INNER: (("gen_ai.operation.name", "chat"), ("gen_ai.request.model", "gpt-5"), ("gen_ai.input.messages", None)),
    _TOOL: (("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.call.result", None)),
    _OTHER: (),
}
"""Attributes by kind of span; None stands for a text that differs."""


def write_store(folder: Path, *, spans: int) -> list[str]:
    """Writes thirty days that are over; returns the trace ids."""
    first_day_ns = (time.time_ns() // _DAY_NS - DAYS) * _DAY_NS
    traces: list[str] = []
    with Store.create(folder) as store:
        for day in range(DAYS):
            traces += _write_day(store, day, first_day_ns + day * _DAY_NS, spans // DAYS)
            store.compact(grace_ns=0)
    return traces


def _write_day(store: Store, day: int, start_ns: int, count: int) -> list[str]:
    """Writes runs whose ids and times are the day's own; what they say is the same every day."""
    rnd = np.random.default_rng(day)
    traces = [rnd.bytes(16).hex() for _ in range(count // SPANS_PER_RUN)]
    begins = start_ns + np.sort(rnd.integers(0, _DAY_NS - SPANS_PER_RUN * _SPAN_NS, len(traces)))
    number = len(traces) * SPANS_PER_RUN
    position = np.tile(np.arange(SPANS_PER_RUN), len(traces))
    times = np.repeat(begins, SPANS_PER_RUN) + position * _SPAN_NS
    digits = rnd.bytes(8 * number).hex()
    ids = np.array([digits[at : at + 16] for at in range(0, len(digits), 16)])
    columns = {
        **_content(len(traces)),
        "trace_id": pa.array(np.repeat(traces, SPANS_PER_RUN)),
        "span_id": pa.array(ids),
        "parent_span_id": _parents(ids, position),
        "started": pa.array(times // 1000, pa.timestamp("us")),
        "start_ns": pa.array(times.astype(np.uint64)),
        "end_ns": pa.array((times + _SPAN_NS // 2).astype(np.uint64)),
    }
    arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(number, f.type) for f in SPANS]
    layout = Layout(store.path)
    files = [
        write_file(layout, "spans", pa.Table.from_arrays(arrays, schema=SPANS), tier="hot"),
        write_file(layout, "messages", _messages(rnd, traces, begins), tier="hot"),
    ]
    store._manifest.replace([], files)
    return traces


def _parents(ids: Any, position: Any) -> pa.Array:
    at = np.arange(len(ids))
    kinds = _PATTERN[position]
    parent = np.where(kinds == _INNER, at - 1, at - position)
    return pa.array(ids[parent], mask=kinds == _ROOT)


def _messages(rnd: np.random.Generator, traces: list[str], begins: Any) -> pa.Table:
    """Returns what was said: a user's question and sixteen results a run, half a kilobyte each."""
    number = len(traces) * (TURNS + 1)
    digits = rnd.bytes(16 * number).hex()
    columns = {
        "trace_id": pa.array(np.repeat(traces, TURNS + 1)),
        "hash": pa.array([digits[at : at + 32] for at in range(0, len(digits), 32)]),
        "time": pa.array(np.repeat(begins, TURNS + 1) // 1000, pa.timestamp("us")),
        "body": pa.array(_texts()[rnd.integers(0, len(_texts()), number)]),
        "seq": pa.array(np.arange(number)),
    }
    return pa.Table.from_arrays([columns[f.name] for f in MESSAGES], schema=MESSAGES)


@cache
def _texts() -> Any:
    rnd = np.random.default_rng(1)
    words = np.array(["order", "refund", "parcel", "account", "price", "total", "customer", "late", "address", "seat"])
    said = [" ".join(rnd.choice(words, 70)) for _ in range(2000)]
    roles = ("user", "tool")
    return np.array([json.dumps({"role": roles[n % 2], "content": text}) for n, text in enumerate(said)], object)


@cache
def _content(runs: int) -> dict[str, pa.Array]:
    rnd = np.random.default_rng(0)
    kinds = np.tile(_PATTERN, runs)
    number = len(kinds)
    is_call = np.isin(kinds, _CALLS)
    tool = np.where(rnd.random(number) < 0.01, "refund", rnd.choice(["look_up", "search", "notify"], number))
    called: list[list[str]] = [[name] if call else [] for name, call in zip(tool, is_call, strict=True)]
    amounts = rnd.integers(1, 200, number)
    calls = [
        [{"name": name, "arguments": f'{{"amount": {amount}}}'} for name in names]
        for names, amount in zip(called, amounts, strict=True)
    ]
    return {
        "name": pa.array(np.array(["agent", "llm", "chat gpt-5", "tool", "step"])[kinds]),
        "kind": pa.array(np.ones(number, np.int32)),
        "service": pa.array(np.repeat(np.char.add("agent-", rnd.integers(0, 8, runs).astype(str)), SPANS_PER_RUN)),
        "scope_name": pa.array(np.array(["agents", "agents", "sdk", "agents", "lib"])[kinds]),
        "operation": pa.array(np.array(["invoke_agent", "chat", "chat", "execute_tool", "step"])[kinds]),
        "request_model": pa.array(np.full(number, "gpt-5"), mask=~is_call),
        "input_tokens": pa.array(rnd.integers(0, 9000, number), mask=~is_call),
        "output_tokens": pa.array(rnd.integers(0, 900, number), mask=~is_call),
        "cost_usd": pa.array(rnd.random(number), mask=~is_call),
        "tool_names": pa.array(called, SPANS.field("tool_names").type),
        "tool_calls": pa.array(calls, SPANS.field("tool_calls").type),
        "reply_text": pa.array(np.full(number, "Let me look that up for you."), mask=~is_call),
        "tool_name": pa.array(tool, mask=kinds != _TOOL),
        "error": pa.array(np.full(number, "timeout"), mask=(kinds != _TOOL) | (rnd.random(number) > 0.02)),
        "has_content": pa.array(is_call),
        "attributes": _attributes(rnd, runs),
        "events": pa.array([[]] * number, SPANS.field("events").type),
        "links": pa.array([[]] * number, SPANS.field("links").type),
        "resource": pa.array(np.full(number, "{}")),
        "scope": pa.array(np.full(number, "{}")),
        **{name: pa.array(np.zeros(number, np.int32)) for name in ("status_code", "flags", "dropped_attributes_count")},
    }


def _attributes(rnd: np.random.Generator, runs: int) -> pa.Array:
    pairs = [pair for kind in _PATTERN for pair in _PAIRS[kind]]
    keys = np.tile(np.array([key for key, _ in pairs], object), runs)
    values = np.tile(np.array([value for _, value in pairs], object), runs)
    differing = np.array([value is None for value in values])
    values[differing] = _texts()[rnd.integers(0, len(_texts()), differing.sum())]
    type = SPANS.field("attributes").type
    columns = [pa.array(keys), pa.array(np.full(len(keys), "string")), pa.array(values, pa.string())]
    offsets = np.concatenate([[0], np.cumsum(np.tile([len(_PAIRS[kind]) for kind in _PATTERN], runs))])
    structs = pa.StructArray.from_arrays(columns, fields=list(type.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), structs, type=type)
