"""Chains of causes as the pages show them: claims of the store, each of which explains the cause of another."""

from collections.abc import Mapping, Sequence
from typing import Any

from ....analysis.attribution.chain import End
from ....ingest.store import Store
from ..chain_text import END_WORDS
from .claims import read_claims, show_claim

LONGEST = 50
"""Claims in one chain."""


def show_chains(store: Store, claims: Sequence[dict[str, Any]], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Returns the values of the chains that begin with one of these claims and were followed.

    `numbers` are those of the decisions on the page, by span id.
    """
    roots = (row for row in claims if row["kind"] == "cause" and not row["parent_claim_id"])
    return [_show(store, rows, numbers) for row in roots if (rows := _followed(store, row, LONGEST))]


def _show(store: Store, rows: list[dict[str, Any]], numbers: Mapping[str, int]) -> dict[str, Any]:
    links = [{**show_claim(row, str(store.path)), "number": numbers.get(row["decision_span_id"])} for row in rows]
    end = rows[-1]["chain_end"]
    return {"links": links, "end": END_WORDS[End(end)] if end in set(End) else end}


def _followed(store: Store, row: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """Returns a claim and those that go on from it, as far as they do; nothing when they lead to no end."""
    # A chain that was followed further later on has an end of its own: what goes on counts before what ended then.
    if most > 1:
        where = "c.parent_claim_id = ? AND c.kind = 'cause' AND c.verdict = 'supported'"
        for child in read_claims(store, where, row["claim_id"]):
            if rest := _followed(store, child, most - 1):
                return [row, *rest]
    return [row] if row["chain_end"] else []
