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
_GROUPS = {
    "stable: one, joint or required": ("det", "s9010", "and2", "and3", "req"),
    "partial 0.9 to 0.3": ("s9030",),
    "intermittent 0.35, 0.6": ("s6005", "s3500"),
    "two copies": ("or2",),
    "three copies": ("or3",),
    "masked": ("supp",),
    "measured effects of a real model": ("measured",),
    "diffuse (hit: recognised)": ("diffuse",),
    "null (hit: nothing named)": ("null", "null35", "null60", "null100"),
}
_CAUSAL = tuple(s for name, group in _GROUPS.items() if not name.startswith(("diffuse", "null")) for s in group)


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
    lines += [*_HEAD]
    parts = {
        **_GROUPS,
        "all with a cause": _CAUSAL,
        "all": (*_CAUSAL, "diffuse", *_GROUPS["null (hit: nothing named)"]),
    }
    for name, scenarios in parts.items():
        for size in ("<= 100", "400"):
            for tool in dict.fromkeys(row["tool"] for row in rows):
                group = [r for r in rows if r["tool"] == tool and r["scenario"] in scenarios]
                group = [r for r in group if (r["size"] <= 100) == (size == "<= 100")]
                if group:
                    lines.append(_line(f"{tool} | {name} | {size}", group))
    return "\n".join(lines)


def _line(head: str, group: list[Row]) -> str:
    def share(rows: Iterable[object]) -> str:
        return f"{mean(bool(x) for x in rows):.3f}"

    calls = [r["calls"] for r in group]
    rounds = [r["rounds"] for r in group]
    hit = share(_is_right(r) for r in group)
    return (
        f"| {head} | {len(group)} | {hit} | {share(r['exact'] for r in group)} | {share(r['false'] for r in group)} "
        f"| {median(calls):.0f} / {mean(calls):.1f} / {percentile(calls, 0.95):.0f} "
        f"| {median(r['head_calls'] for r in group):.0f} "
        f"| {median(rounds):.0f} / {percentile(rounds, 0.95):.0f} | {mean(r['seconds'] for r in group):.3f} |"
    )


def _is_right(row: Row) -> bool:
    if row["scenario"].startswith("null"):
        return not row["named"]
    return "diffuse" in row.get("kinds", ()) if row["scenario"] == "diffuse" else bool(row["hit"])
