"""Interventions: pure edits of a case, each with a kind, a digest, and a line that says what it does.

`Noop` is the control. An intervention is identified by what it is, not by the case it is applied to, and `Several`
composes them. A replacement or a tool edit that finds nothing to change is an error. A removal is not: what a case
never said is gone from it already.
"""

from .edit import Intervention, Noop, Several, intervention_id
from .reading import intervention_from_json
from .settings import EditTool, SetParameter, SwapModel
from .texts import Drop, InsertMessage, InsertRule, Replace, SystemPrompt

__all__ = [
    "Drop",
    "EditTool",
    "InsertMessage",
    "InsertRule",
    "Intervention",
    "Noop",
    "Replace",
    "SetParameter",
    "Several",
    "SwapModel",
    "SystemPrompt",
    "intervention_from_json",
    "intervention_id",
]
