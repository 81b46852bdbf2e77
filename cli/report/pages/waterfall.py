"""The waterfall in numbers that a template can draw: SVG user units for places, words for the rest."""

from typing import Any

from ....analysis.waterfall import Row, Waterfall
from ..run_text import duration_words

LABEL_WIDTH = 300
BAR_WIDTH = 440
ROW_HEIGHT = 20
INDENT = 10
MAX_DEPTH = 12
CHARACTER = 6.2
"""Width of a character, about."""


def draw_waterfall(waterfall: Waterfall) -> dict[str, Any]:
    """Returns what `waterfall.html.j2` draws."""
    return {
        "rows": [_row(row, n, waterfall.duration_ns) for n, row in enumerate(waterfall.rows)],
        "height": ROW_HEIGHT * len(waterfall.rows) + 24,
        "label_width": LABEL_WIDTH,
        "bar_width": BAR_WIDTH,
        "duration": duration_words(waterfall.duration_ns),
    }


def _row(row: Row, number: int, total_ns: int) -> dict[str, Any]:
    scale = BAR_WIDTH / total_ns if total_ns > 0 else 0.0
    indent = INDENT * min(row.depth, MAX_DEPTH)
    room = int((LABEL_WIDTH - indent - 8) / CHARACTER)
    label = f"#{row.number} {row.name}" if row.number else row.name
    facts = [duration_words(row.duration_ns)]
    if row.input_tokens is not None or row.output_tokens is not None:
        facts.append(f"{_count(row.input_tokens)} + {_count(row.output_tokens)} tokens")
    if row.cost_usd:
        facts.append(f"${row.cost_usd:.4f}")
    return {
        "y": ROW_HEIGHT * number,
        "x": indent,
        "label": label if len(label) <= room else label[: max(1, room - 1)] + "…",
        "kind": row.kind.value,
        "bar_x": LABEL_WIDTH + min(BAR_WIDTH - 2.0, row.offset_ns * scale),
        "bar_length": max(2.0, min(row.duration_ns * scale, float(BAR_WIDTH))),
        "facts": ", ".join(facts),
        "title": ", ".join(
            [label, *facts, *([row.outcome] if row.outcome else []), *([row.error] if row.error else [])]
        ),
        "error": row.error,
        "number": row.number if row.marks else None,
        "marks": len(row.marks),
    }


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"
