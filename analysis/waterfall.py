"""A run as rows in time: agents, model calls and tools, each with what it took, and the claims about its decisions.

Pure: spans and calls in, rows out; terminal and HTML draw the same rows.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..ingest import conventions as names
from ..ingest.calls import ModelCall, ModelReply
from ..ingest.spans import AnyValue, Span, SpanId, StatusCode


class RowKind(StrEnum):
    """What a span is to the reader of a run."""

    MODEL = "model"
    TOOL = "tool"
    OTHER = "other"
    """An agent, a step of a framework, transport."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A claim about a decision."""

    kind: str
    """`cause`, `fix` or `none`."""
    verdict: str
    effect: float | None
    subject: str
    """What was removed or inserted; may quote the trace."""
    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One span of a run."""

    span_id: str
    depth: int
    kind: RowKind
    name: str
    number: int | None
    """Of a model call: N of `#N`."""
    offset_ns: int
    """From the start of the run."""
    duration_ns: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    error: str
    """Empty when nothing failed."""
    grade: str
    """Of a model call: how complete its request is."""
    outcome: str
    """Of a model call: the events to ask about, or the beginning of its text."""
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """The rows of a run, parents before children, and its totals."""

    rows: tuple[Row, ...]
    duration_ns: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    """As far as it was recorded."""
    errors: int


def build_waterfall(spans: Sequence[Span], calls: Sequence[ModelCall]) -> Waterfall:
    """Returns a run's rows; spans that whyspan wrote are marks on the decisions they are about."""
    recorded = [s for s in spans if s.scope.name != names.SCOPE_NAME]
    start = min((s.start_ns for s in recorded), default=0)
    numbered = {call.span_id: (n, call) for n, call in enumerate(calls, 1)}
    marks = marks_of(spans)
    rows = tuple(_row(span, depth, start, numbered, marks) for depth, span in tree_order(recorded))
    return Waterfall(
        rows=rows,
        duration_ns=max((s.end_ns for s in recorded), default=start) - start,
        input_tokens=sum(r.input_tokens or 0 for r in rows),
        output_tokens=sum(r.output_tokens or 0 for r in rows),
        cost_usd=sum(r.cost_usd or 0.0 for r in rows),
        errors=sum(bool(r.error) for r in rows),
    )


def tree_order(spans: Sequence[Span]) -> list[tuple[int, Span]]:
    """Returns (depth, span) with every parent before its children, siblings in start order.

    Each span comes once, whatever the parent ids say: a span whose parent is unknown, or part of a circle, is a root.
    """
    known = {s.span_id for s in spans}
    children: dict[str | None, list[Span]] = defaultdict(list)
    for span in spans:
        children[span.parent_span_id if span.parent_span_id in known else None].append(span)
    ordered: list[tuple[int, Span]] = []
    seen: set[str] = set()
    for root in (*children[None], *spans):
        stack = [(0, root)]
        while stack:
            depth, span = stack.pop()
            if span.span_id not in seen:
                seen.add(span.span_id)
                ordered.append((depth, span))
                stack.extend((depth + 1, child) for child in reversed(children[span.span_id]))
    return ordered


def marks_of(spans: Sequence[Span]) -> dict[str, tuple[Mark, ...]]:
    """Returns decision's span id → claims about it, the latest figures of each."""
    latest: dict[tuple[str, str], tuple[int, Mark]] = {}
    for span in spans:
        if span.scope.name != names.SCOPE_NAME or span.attributes.get(names.KIND) != names.KIND_CLAIM:
            continue
        key = (_text(span.attributes.get(names.DECISION_SPAN_ID)), _text(span.attributes.get(names.CLAIM_ID)))
        if key not in latest or latest[key][0] <= span.start_ns:
            latest[key] = (span.start_ns, _mark(span))
    found: dict[str, list[Mark]] = defaultdict(list)
    for (span_id, _), (_, mark) in latest.items():
        found[span_id].append(mark)
    return {span_id: tuple(marks) for span_id, marks in found.items()}


def outcome_words(reply: ModelReply, *, width: int = 60) -> str:
    """Returns what a reply did, as the events to ask about, or the beginning of its text."""
    if reply.error:
        return f"error: {reply.error}"
    if reply.tool_calls:
        return " ".join(dict.fromkeys(f"tool:{c.name}" for c in reply.tool_calls))
    text = " ".join(reply.text.split())
    return f'"{text}"' if len(text) <= width else f'"{text[: width - 1]}…"'


def _row(
    span: Span,
    depth: int,
    start: int,
    numbered: dict[SpanId, tuple[int, ModelCall]],
    marks: dict[str, tuple[Mark, ...]],
) -> Row:
    number, call = numbered.get(span.span_id, (None, None))
    tool = span.attributes.get("gen_ai.tool.name") or span.attributes.get("tool.name")
    kind = RowKind.MODEL if call else RowKind.TOOL if tool else RowKind.OTHER
    failed = span.status_code == StatusCode.ERROR
    return Row(
        span_id=span.span_id,
        depth=depth,
        kind=kind,
        name=span.name,
        number=number,
        offset_ns=max(0, span.start_ns - start),
        duration_ns=max(0, span.end_ns - span.start_ns),
        input_tokens=call.usage.input_tokens if call else None,
        output_tokens=call.usage.output_tokens if call else None,
        cost_usd=call.usage.cost_usd if call else None,
        error=(span.status_message or "error") if failed else "",
        grade=call.completeness.grade.value if call else "",
        outcome=(outcome_words(call.replies[0]) if call.replies else "reply not recorded") if call else "",
        marks=marks.get(span.span_id, ()),
    )


def _mark(span: Span) -> Mark:
    effect = span.attributes.get(names.CLAIM_EFFECT)
    return Mark(
        kind=_text(span.attributes.get(names.CLAIM_KIND)),
        verdict=_text(span.attributes.get(names.CLAIM_VERDICT)),
        effect=float(effect) if isinstance(effect, int | float) else None,
        subject=_text(span.attributes.get(names.CLAIM_SUBJECT)),
        claim_id=_text(span.attributes.get(names.CLAIM_ID)),
    )


def _text(value: AnyValue) -> str:
    return value if isinstance(value, str) else ""
