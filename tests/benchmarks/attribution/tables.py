"""Tables of benchmark rows, in Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, median
from typing import Any

Row = dict[str, Any]

_COLUMNS = (
    "tool | scenario | N",
    "runs",
    "hit",
    "exact",
    "false",
    "calls median / mean / p95",
    "to headline",
    "rounds median / p95",
    "CPU s",
)
_HEAD = (f"| {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 2) + "|")
_STABLE = ("det", "s9010", "and2", "and3", "req")


def percentile(values: list[float], share: float) -> float:
    """Returns the smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def render_tables(rows: list[Row]) -> str:
    """Returns the table by scenario and size and the one over all, for each tool."""
    groups: defaultdict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["tool"], row["scenario"], row["size"]].append(row)
    lines = [*_HEAD, *(_line(f"{t} | {scenario} | {n}", group) for (t, scenario, n), group in groups.items()), ""]
    for tool in dict.fromkeys(row["tool"] for row in rows):
        mine = [row for row in rows if row["tool"] == tool]
        parts = {
            "all": mine,
            "causal": [r for r in mine if not r["scenario"].startswith("null") and r["scenario"] != "diffuse"],
            "stable, N <= 100": [r for r in mine if r["scenario"] in _STABLE and r["size"] <= 100],
            "null": [r for r in mine if r["scenario"].startswith("null")],
        }
        lines += [*_HEAD, *(_line(f"{tool} | {name} | -", part) for name, part in parts.items() if part), ""]
    return "\n".join(lines)


def _line(head: str, group: list[Row]) -> str:
    def share(rows: Iterable[object]) -> str:
        return f"{mean(bool(x) for x in rows):.3f}"

    null = group[0]["scenario"].startswith("null")
    calls = [r["calls"] for r in group]
    rounds = [r["rounds"] for r in group]
    hit = share(not r["named"] for r in group) if null else share(r["hit"] for r in group)
    return (
        f"| {head} | {len(group)} | {hit} | {share(r['exact'] for r in group)} | {share(r['false'] for r in group)} "
        f"| {median(calls):.0f} / {mean(calls):.1f} / {percentile(calls, 0.95):.0f} "
        f"| {median(r['head_calls'] for r in group):.0f} "
        f"| {median(rounds):.0f} / {percentile(rounds, 0.95):.0f} | {mean(r['seconds'] for r in group):.3f} |"
    )
