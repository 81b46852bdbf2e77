r"""Targets: which outcome of a model call is asked about.

    tool:NAME                      the reply calls NAME
    tool:NAME[to~'@evil', n>=2]    … with arguments that match; PATH OP VALUE, OP one of = != ~ < > <= >=
    text:/REGEX/                   the reply text matches
    no-tool                        the reply calls no tool
    finish:REASON                  the reply ended for that reason
    error                          the call failed
    py:MODULE:FUNCTION             a Python predicate on the reply
    judge:"QUESTION"               a model reads the reply and says yes
    last | #N | span:ID            that call of the run, and the outcome it had

The outcomes say which replies count and pick the last call of the run that had one. `last`, `#N` and `span:ID` pick
the call, and the outcome is what it did: the same tools with the same arguments, formatting aside, or an answer
without tools. A frozen target of that kind is written `calls:[["NAME", {arguments}], …]`.
"""

from .grammar import GRAMMAR, parse_target
from .outcomes import (
    Condition,
    ErrorTarget,
    FinishTarget,
    JudgeTarget,
    NoToolTarget,
    PythonTarget,
    SameCallsTarget,
    Target,
    TextTarget,
    ToolTarget,
)
from .selection import events_of, select

__all__ = [
    "GRAMMAR",
    "Condition",
    "ErrorTarget",
    "FinishTarget",
    "JudgeTarget",
    "NoToolTarget",
    "PythonTarget",
    "SameCallsTarget",
    "Target",
    "TextTarget",
    "ToolTarget",
    "events_of",
    "parse_target",
    "select",
]
