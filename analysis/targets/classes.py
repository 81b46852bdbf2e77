"""The class of an outcome: the target, a different action, or a step back. It decides what kind of cause a piece is."""

from collections.abc import Set

from ...ingest.calls import ModelReply
from ..attribution.problem import Outcome
from ..canonical import canonical_arguments
from .outcomes import Target

QUESTION_MARKS = ("?", "\uff1f", "\u061f")
"""Latin, fullwidth and Arabic."""


def classify(target: Target, reply: ModelReply, known: Set[tuple[str, str]]) -> Outcome:
    """Returns what a reply is; `known` are the calls that the request's history holds (`fields.previous_calls`)."""
    return Outcome.TARGET if target.matches(reply) else classify_other(reply, known)


def classify_other(reply: ModelReply, known: Set[tuple[str, str]]) -> Outcome:
    """Returns the class of a reply that is not the target.

    `ASKS` is a reply that gets no further: it is empty or refused, puts a question, or fetches again what the history
    already holds; that is what a model does when a piece it *needs* is gone.
    """
    if reply.tool_calls:
        again = all((c.name, canonical_arguments(c.arguments)) in known for c in reply.tool_calls)
        return Outcome.ASKS if again else Outcome.OTHER
    text = reply.text.strip()
    asks = not text or bool(reply.refusal) or text.endswith(QUESTION_MARKS)
    return Outcome.ASKS if asks else Outcome.OTHER
