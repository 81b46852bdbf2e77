"""Attribution: which pieces of a request a decision depends on, found by removing them and sampling again.

The core is pure: `attribute` yields rounds of draws and is sent their outcomes. It reads no clock and calls no model.
"""

from ..statistics.intervals import Interval
from .attribute import attribute
from .problem import Draw, Leaf, Options, Outcome, Replies, Role, Round, Tally
from .result import Attribution, Claim, Dose, Kind, Nominated, Stop, Tested

__all__ = [
    "Attribution",
    "Claim",
    "Dose",
    "Draw",
    "Interval",
    "Kind",
    "Leaf",
    "Nominated",
    "Options",
    "Outcome",
    "Replies",
    "Role",
    "Round",
    "Stop",
    "Tally",
    "Tested",
    "attribute",
]
