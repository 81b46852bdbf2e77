"""A run for a terminal: its tree of agents, model calls and tools, and what one model call read and did."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...analysis.segments import segment
from ...ingest import conventions as names
from ...ingest.calls import ModelCall, ModelReply
from ...ingest.spans import Span, StatusCode
from ..output import Paint, shorten


def render_run(spans: Sequence[Span], calls: Sequence[ModelCall], paint: Paint) -> Iterator[str]:
    """Yields the lines of a run's tree; model calls carry the #N and tool:NAME that one can ask about."""
    numbered = {call.span_id: (n, call) for n, call in enumerate(calls, 1)}
    for depth, span in tree_order(spans):
        yield "  " * depth + _line(span, numbered.get(span.span_id), paint)


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


def _line(span: Span, numbered: tuple[int, ModelCall] | None, paint: Paint) -> str:
    if span.attributes.get(names.KIND) == names.KIND_CLAIM:
        return _claim(span, paint)
    facts = [f"{max(0, span.end_ns - span.start_ns) / 1e9:.2f} s"]
    failed = paint("  error", fg="red") if span.status_code == StatusCode.ERROR else ""
    if numbered is None:
        return f"{paint(span.name)}  {paint(facts[0], dim=True)}{failed}"
    number, call = numbered
    facts += [f"{n} {word}" for n, word in ((call.usage.input_tokens, "in"), (call.usage.output_tokens, "out")) if n]
    facts.append(call.completeness.grade.value)
    head = f"{paint(f'#{number}', bold=True)} {paint(span.name)}  {paint(', '.join(facts), dim=True)}"
    return f"{head}{failed}  {_outcome(call, paint)}"


def _outcome(call: ModelCall, paint: Paint) -> str:
    if not call.replies:
        return paint("reply not recorded", dim=True)
    return paint(outcome_words(call.replies[0]), fg="cyan")


def outcome_words(reply: ModelReply) -> str:
    """Returns what a reply did, as the events to ask about, or its text."""
    if reply.tool_calls:
        return " ".join(dict.fromkeys(f"tool:{c.name}" for c in reply.tool_calls))
    return f'"{shorten(reply.text, 60)}"'


def _claim(span: Span, paint: Paint) -> str:
    values = span.attributes
    what = f"{values.get(names.CLAIM_KIND)} {values.get(names.CLAIM_VERDICT)}: {values.get(names.CLAIM_SUBJECT, '')}"
    return paint(f"claim  {shorten(what, 90)}", fg="magenta")


def render_call(call: ModelCall, paint: Paint) -> Iterator[str]:
    """Yields what one model call read, piece by piece, and what it did."""
    yield f"{paint('model call', bold=True)}  {paint(call.request_model)}  span {paint(call.span_id)}"
    yield ""
    message = None
    for piece in segment(call.api, call.request).segments:
        if piece.message != message:
            message = piece.message
            yield paint(
                f"  {piece.role.value}" if message < 0 else f"  {piece.role.value}, message {message}", dim=True
            )
        yield f"    {paint(shorten(piece.text, 400))}"
    yield ""
    for reply in call.replies:
        for tool in reply.tool_calls:
            yield f"  {paint('calls', bold=True)} {paint(tool.name, fg='cyan')} {paint(shorten(tool.arguments, 400))}"
        if reply.text:
            yield f"  {paint('says', bold=True)}  {paint(shorten(reply.text, 400))}"
