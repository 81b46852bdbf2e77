"""A chain of causes for a terminal: each decision, the piece that caused it, and why the chain ends."""

import json
import textwrap
from collections.abc import Iterator

from ...analysis.attribution.chain import Chain, End, Link
from ...analysis.attribution.chain.sources import Way
from ..output import Paint, shorten, text_width
from ..selecting import one_decision

END_WORDS = {
    End.OUTSIDE: "outside text: no model of the run wrote it",
    End.TOOL: "outside text: it came with that result, and nothing that the run had read led to the call",
    End.OWN: "the model's own: the call that wrote it does so whatever is taken from what it had read",
    End.UNTRACED: "the call that it came from is not in the trace, or not with its reply",
    End.NOT_REPLAYABLE: "the call that it came from was not recorded as it was sent",
    End.RARE: "asked again, the call that it came from seldom does that, too seldom to tell why it did",
    End.UNRESOLVED: "the call that it came from depends on what it had read, but on no single piece that is confirmed",
    End.DIFFUSE: "many pieces led a little to the call that it came from: there is no one text to follow",
    End.DEPTH: "as deep as was asked for",
    End.BUDGET: "the budget ended here; the same command goes on, and what is known is free",
    End.FAILED: "the model of the call that it came from could not be asked",
}
COMPLETE = frozenset({End.OUTSIDE, End.TOOL, End.OWN})
"""Ends at which there is nothing left to follow."""
DID = {Way.TEXT: "wrote that", Way.ARGUMENTS: "wrote that in a call", Way.RESULT: "called for that"}
QUOTE_LENGTH = 300


def render_chain(chain: Chain, paint: Paint) -> Iterator[str]:
    """Yields the lines of a chain; one line when the cause itself came from outside."""
    if len(chain.links) > 1:
        bound = f"all links hold but in {100 * chain.alpha:g} % of such chains at most; {chain.replays} replays in all"
        yield f"  {paint('chain', bold=True)}  {bound}"
        for before, link in zip((None, *chain.links), chain.links, strict=False):
            yield from _link(before, link, paint, is_origin=link is chain.origin)
    label = "start" if chain.end in COMPLETE else "open "
    for n, line in enumerate(textwrap.wrap(_end_words(chain), text_width() - 10)):
        yield f"  {paint(label if n == 0 else '     ', bold=True)}  {paint(line)}"


def _link(before: Link | None, link: Link, paint: Paint, *, is_origin: bool) -> Iterator[str]:
    claim, where = link.claim, link.report.case.origin
    number = f"#{link.number}" if link.number else f"span {where.span_id[:8]}"
    service = f" of {where.service}" if where.service else ""
    yield from _wrapped(f"{number}{service} {_did(before, link)}", "  ", paint, dim=True)
    yield from _wrapped(f'← "{shorten(link.piece.text, QUOTE_LENGTH)}"', "    ", paint, fg="yellow")
    entered = "outside text, " if is_origin else ""
    rates = f"{claim.base.target} of {claim.base.draws} as recorded, {claim.changed.target} of {claim.changed.draws}"
    figures = f"{rates} without it; e-value {claim.e_value:,.0f}, needed {1 / claim.alpha:,.0f}"
    yield from _wrapped(f"{entered}in {_place(link)}: {figures}", "      ", paint, dim=True)


def _place(link: Link) -> str:
    """Where the piece stands; what one agent hands to another stands where a user's words would."""
    return "the task it was given" if link.source and link.piece.role.is_given else link.piece.place


def _did(before: Link | None, link: Link) -> str:
    if before is None or before.source is None:
        return link.claim.case.target.label
    return f"{DID[before.source.way]}; counted when {link.judged}"


def _wrapped(text: str, indent: str, paint: Paint, **style: object) -> Iterator[str]:
    for line in textwrap.wrap(text, text_width() - len(indent), subsequent_indent="  ", break_on_hyphens=False):
        yield indent + paint(line, **style)


def _end_words(chain: Chain) -> str:
    words = END_WORDS[chain.end]
    if chain.note:
        words = f"{words}: {chain.note}"
    return f"{chain.links[-1].piece.place}: {words}" if len(chain.links) == 1 else words


def next_step(chain: Chain, decision: str, depth: int, options: str) -> str:
    """Returns the command that goes on where a chain ends; empty when it is complete.

    `decision` are the words that chose the decision asked about, `depth` the links that were asked for, `options` what
    replays need.
    """
    last = chain.links[-1]
    where = last.report.case.origin
    match chain.end:
        case End.DEPTH:
            return f"why {decision} --depth {2 * depth}{options}"
        case End.BUDGET | End.FAILED:
            return f"why {decision} --depth {depth}{options}"
        case End.UNTRACED | End.NOT_REPLAYABLE:
            return f"calls {where.trace_id[:12]}"
        case End.OWN | End.RARE if last.source:
            question = f"Does it say, in these words or others: {last.source.statement}"
            return f"why {_asked(last, 'judge:' + json.dumps(question, ensure_ascii=False))}{options}"
        case End.UNRESOLVED if chain.asked:
            return f"why {_asked(last, chain.asked.target.spec)} --full{options}"
        case _:
            return ""


def _asked(last: Link, event: str) -> str:
    assert last.source is not None  # there was a call to ask
    return one_decision(last.source.call.trace_id, last.source.call.span_id, event)
