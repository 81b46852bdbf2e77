"""Triage: which decisions are worth explaining. A signal nominates a decision; it never claims anything about it."""

from .ranking import LATEST, Nomination, Reason, triage

__all__ = ["LATEST", "Nomination", "Reason", "triage"]
