"""Chains of causes: from a decision back to the outside text or tool that started it."""

from .chain import Chain, End, Link
from .following import DEPTH, find_chain

__all__ = ["DEPTH", "Chain", "End", "Link", "find_chain"]
