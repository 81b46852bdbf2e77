"""Where a piece of a request came from: the earlier model call of its run that wrote it, or that called for it.

Pure, and a matter of record, not of chance: a text is taken to come from a call when that call came before the first
request that holds it, and its reply says it word for word, white space aside. No model is asked.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ....ingest.calls import Body, Grade, Json, ModelCall, ToolCall
from ...document import split
from ...fields import value_at
from ...segments import Segment, fold, segment
from ..problem import Role

LEAST_TEXT = 20
"""Characters; a shorter text that somebody else wrote proves nothing when a model says it too."""


class Way(StrEnum):
    """How an earlier call gave rise to a piece."""

    TEXT = "text"
    """Its reply's text says it."""
    ARGUMENTS = "arguments"
    """The arguments of a tool call in its reply say it."""
    RESULT = "result"
    """It called the tool whose result the piece is; the words are not its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The earlier model call that a piece came from."""

    call: ModelCall
    way: Way
    statement: str
    """What both say, white space folded; for a result, the piece."""
    tool: ToolCall | None = None
    """The tool call that says it, or whose result it is; None for a text."""
    path: tuple[str, ...] = ()
    """Keys and indices that lead to the statement in the call's arguments; empty when it is not found there."""


def find_source(piece: Segment, request: Body, span_id: str, calls: Sequence[ModelCall]) -> Source | None:
    """Returns the call that a piece of a request came from; None when it came from outside, or is not found.

    Args:
        piece: a piece of the request.
        request: the request that holds it.
        span_id: the call with this request.
        calls: the model calls of the run, in start order, that one among them.
    """
    own = next(n for n, c in enumerate(calls) if c.span_id == span_id)
    # The first request that holds the text in this place, an earlier turn of the same agent say, is the one that
    # somebody wrote it for. Two agents may hold the same by chance; what the run made must come from somewhere.
    text = value_at(request, piece.pointer)
    first = next((n for n, c in enumerate(calls) if value_at(c.request, piece.pointer) == text), own)
    found = _source(piece, calls[:first])
    return _source(piece, calls[:own]) if found is None and not piece.role.is_given else found


def _source(piece: Segment, earlier: Sequence[ModelCall]) -> Source | None:
    match piece.role:
        case Role.ASSISTANT:
            return _writer(piece, earlier, least=1)
        case Role.CALL_ARGUMENTS:
            called = _caller(piece, earlier)
            return _own_arguments(piece, *called) if called else _writer(piece, earlier)
        case Role.TOOL:
            return _of_result(piece, earlier)
        case Role.USER | Role.SYSTEM | Role.TOOL_DEFINITION:
            return _writer(piece, earlier)


def has_read(call: ModelCall, calls: Sequence[ModelCall]) -> bool:
    """Whether a call's request holds anything that the run brought in; assumed of one that was not recorded."""
    if call.completeness.grade is Grade.NOT_REPLAYABLE:
        return True
    pieces = segment(call.api, call.request).segments
    return any(not piece.role.is_given for piece in pieces) or is_briefed(call, calls)


def is_briefed(call: ModelCall, calls: Sequence[ModelCall]) -> bool:
    """Whether an earlier call of the run wrote some of what stands there as the user's words or the prompt."""
    return any(
        find_source(piece, call.request, call.span_id, calls) is not None
        for piece in segment(call.api, call.request).segments
        if piece.role in (Role.USER, Role.SYSTEM)
    )


def _own_arguments(piece: Segment, call: ModelCall, tool: ToolCall) -> Source:
    """Where in the arguments it stands may not be found: numbers are written in several ways."""
    unplaced = Source(call=call, way=Way.ARGUMENTS, statement=fold(piece.text), tool=tool)
    return _arguments(piece, call, tool, least=1) or unplaced


def _of_result(piece: Segment, earlier: Sequence[ModelCall]) -> Source | None:
    """A model that ran inside the tool may have written its result; else the call itself is what led to it."""
    called = _caller(piece, earlier)
    if called is None:
        return _writer(piece, earlier)
    call, tool = called
    return (
        _writer(piece, earlier[earlier.index(call) + 1 :])
        or _arguments(piece, call, tool)
        or Source(call=call, way=Way.RESULT, statement=fold(piece.text), tool=tool)
    )


def _caller(piece: Segment, calls: Sequence[ModelCall]) -> tuple[ModelCall, ToolCall] | None:
    """Returns the call that made the tool call which the piece answers or is part of.

    By its id; some APIs have none: then it is the latest call of the tool, unless a reply has several.
    """
    made = [(c, t) for c in reversed(calls) for reply in c.replies for t in reply.tool_calls]
    if piece.call_id:
        return next(((c, t) for c, t in made if t.id == piece.call_id), None)
    same = [(c, t) for c, t in made if t.name == piece.tool]
    is_clear = len(same) == 1 or (len(same) > 1 and same[0][0] is not same[1][0])
    return same[0] if is_clear else None


def _writer(piece: Segment, calls: Sequence[ModelCall], *, least: int = LEAST_TEXT) -> Source | None:
    """Returns the latest call whose reply says the piece; `least` is the length from which its text counts."""
    for said, shortest in _wordings(piece, least):
        for call in reversed(calls):
            for reply in call.replies:
                if statement := _shared(said, reply.text, shortest):
                    return Source(call=call, way=Way.TEXT, statement=statement)
                for tool in reply.tool_calls:
                    if source := _arguments(piece, call, tool):
                        return source
    return None


def _arguments(piece: Segment, call: ModelCall, tool: ToolCall, *, least: int = LEAST_TEXT) -> Source | None:
    """Returns the source when a tool call's arguments say the piece: an equal value before one that contains it."""
    values = [(path, fold(text)) for path, text in argument_values(tool)]
    for said, shortest in _wordings(piece, least):
        equal = (
            (p, text) for p, text in values if len(text) >= least and said in (text, f"{p[-1]}: {text}" if p else "")
        )
        holding = ((p, shared) for p, text in values if (shared := _shared(said, text, shortest)))
        for path, statement in (*equal, *holding):
            return Source(call=call, way=Way.ARGUMENTS, statement=statement, tool=tool, path=path)
    return None


def _wordings(piece: Segment, least: int) -> Iterator[tuple[str, int]]:
    """Yields a piece's text and, since a JSON member reads `key: value`, what follows a key, with the least lengths."""
    said = fold(piece.text)
    yield said, least
    key, _, value = said.partition(": ")
    if value and " " not in key:
        yield value, max(least, LEAST_TEXT)


def _shared(said: str, text: str, least: int) -> str:
    """Returns what a piece and a text both say: the piece, else the longest sentence of the text that it holds."""
    folded, sentences = _read(text)
    if len(said) >= least and said in folded:
        return said
    return max((s for s in sentences if s in said), key=len, default="")


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[str, tuple[str, ...]]:
    """Returns a text with white space folded, and its sentences that are long enough; replies are read many times."""
    sentences = (fold(piece.text) for piece in split(text).pieces)
    return fold(text), tuple(s for s in sentences if len(s) >= LEAST_TEXT)


def argument_values(tool: ToolCall) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the path and the text of every scalar in a tool call's arguments.

    All of it, without a path, when they are no JSON, or nested beyond what Python reads.
    """
    try:
        yield from _scalars(json.loads(tool.arguments), ())
    except (ValueError, RecursionError):
        yield (), tool.arguments


def _scalars(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars(inner, (*path, str(index)))
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)
