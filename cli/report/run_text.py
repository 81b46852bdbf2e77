"""A run for a terminal: its waterfall, and what one model call read and did."""

from collections.abc import Iterator, Sequence

from ...analysis.segments import Segment, fold, segment
from ...analysis.waterfall import Mark, Row, RowKind, Waterfall
from ...ingest.calls import ModelCall
from ..output import Paint, shorten

NAME_WIDTH = 44
BAR_WIDTH = 24
MAX_DEPTH = 10
TEXT_WIDTH = 400
COLORS = {RowKind.MODEL: "cyan", RowKind.TOOL: "yellow", RowKind.OTHER: "white"}
JOINT = " … "
"""What stands between the pieces of a claim's subject."""


def render_run(waterfall: Waterfall, paint: Paint) -> Iterator[str]:
    """Yields the lines of a run; model calls carry the #N and tool:NAME that one can ask about."""
    yield paint(_totals(waterfall), dim=True)
    yield ""
    for row in waterfall.rows:
        yield _line(row, waterfall.duration_ns, paint)
        for mark in row.marks:
            yield _mark(mark, paint)


def _totals(waterfall: Waterfall) -> str:
    words = [duration_words(waterfall.duration_ns), f"{len(waterfall.rows)} spans"]
    if waterfall.input_tokens or waterfall.output_tokens:
        words.append(f"{waterfall.input_tokens:,} + {waterfall.output_tokens:,} tokens")
    if waterfall.cost_usd:
        words.append(f"${waterfall.cost_usd:.4f}")
    if waterfall.errors:
        words.append(f"{waterfall.errors} errors")
    return ", ".join(words)


def _line(row: Row, total_ns: int, paint: Paint) -> str:
    number = f"#{row.number} " if row.number else ""
    label = "  " * min(row.depth, MAX_DEPTH)
    name = shorten(f"{number}{row.name}", max(8, NAME_WIDTH - len(label)))
    head = f"{label}{name}".ljust(NAME_WIDTH)
    bar = paint(_bar(row, total_ns), fg=COLORS[row.kind])
    facts = [duration_words(row.duration_ns).rjust(8)]
    if row.input_tokens is not None or row.output_tokens is not None:
        facts.append(f"{_count(row.input_tokens)}+{_count(row.output_tokens)} tok")
    if row.cost_usd:
        facts.append(f"${row.cost_usd:.4f}")
    if row.grade and row.grade != "exact":
        facts.append(row.grade)
    tail = f"  {paint(row.outcome, fg='cyan')}" if row.outcome else ""
    error = f"  {paint(shorten(row.error, 60), fg='red')}" if row.error else ""
    return (
        f"{paint(head, bold=row.kind is RowKind.MODEL)} {bar} {paint('  '.join(facts), dim=True)}{tail}{error}".rstrip()
    )


def _bar(row: Row, total_ns: int) -> str:
    """Returns where a span lies in the run's time, BAR_WIDTH characters; every span shows at least one."""
    if total_ns <= 0:
        return "━" * BAR_WIDTH
    start = min(BAR_WIDTH - 1, row.offset_ns * BAR_WIDTH // total_ns)
    length = max(1, min(BAR_WIDTH - start, round(row.duration_ns * BAR_WIDTH / total_ns)))
    return ("·" * start + "━" * length).ljust(BAR_WIDTH, "·")


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"


def _mark(mark: Mark, paint: Paint) -> str:
    effect = f" {mark.effect:+.2f}" if mark.effect is not None else ""
    words = shorten(f"◆ {mark.kind} {mark.verdict}{effect}  {mark.subject}", 106)
    return paint(f"    {words}", fg="magenta")


def duration_words(ns: int) -> str:
    """Returns `340 ms`, `1.25 s` or `12.5 min`."""
    if ns < 1e9:
        return f"{ns / 1e6:.0f} ms"
    return f"{ns / 1e9:.2f} s" if ns < 120e9 else f"{ns / 60e9:.1f} min"


def render_call(call: ModelCall, marks: Sequence[Mark], paint: Paint) -> Iterator[str]:
    """Yields what one model call read, piece by piece, known causes highlighted, and what it did."""
    causes = {fold(t) for m in marks if (m.kind, m.verdict) == ("cause", "supported") for t in m.subject.split(JOINT)}
    yield f"{paint('model call', bold=True)}  {paint(call.request_model)}  span {paint(call.span_id)}"
    yield ""
    message = None
    for piece in segment(call.api, call.request).segments:
        if piece.message != message:
            message = piece.message
            yield paint(
                f"  {piece.role.value}" if message < 0 else f"  {piece.role.value}, message {message}", dim=True
            )
        yield _piece(piece, causes, paint)
    yield ""
    for reply in call.replies:
        for tool in reply.tool_calls:
            arguments = paint(shorten(tool.arguments, TEXT_WIDTH))
            yield f"  {paint('calls', bold=True)} {paint(tool.name, fg='cyan')} {arguments}"
        if reply.text:
            yield f"  {paint('says', bold=True)}  {paint(shorten(reply.text, TEXT_WIDTH))}"
    for mark in marks:
        yield _mark(mark, paint)


def _piece(piece: Segment, causes: set[str], paint: Paint) -> str:
    if fold(piece.text) in causes:
        text = paint(shorten(piece.text, TEXT_WIDTH), fg="yellow", bold=True)
        return f"{paint('cause', fg='red', bold=True)}  {text}"
    return f"    {paint(shorten(piece.text, TEXT_WIDTH))}"
