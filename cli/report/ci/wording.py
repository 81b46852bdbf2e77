"""The same few words in every artefact: statuses, rates, claims."""

import re
from typing import Any

from .results import Document

STATUS_WORDS = {
    "passed": "passed",
    "failed": "failed",
    "stale": "stale: the request is not the one that was verified",
    "unverified": "nothing is verified yet",
    "inconclusive": "inconclusive: the budget ended before the rate was clear",
    "skipped": "skipped",
}
SYMBOLS = {"passed": "✅", "failed": "❌", "stale": "🕓", "unverified": "❔", "inconclusive": "❔", "skipped": "⏭️"}
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even escaped, and that other readers stumble over."""
CLAIM_WORDS = {"cause": "cause", "fix": "fix", "none": "no cause found"}


def rate_of(check: Document) -> str:
    """Returns `0 of 16 (≤ 0.23)`; a dash when nothing was drawn."""
    if not check["draws"]:
        return "—"
    upper = f", 95 % interval {check['interval'][0]:.2f} to {check['interval'][1]:.2f}" if check["interval"] else ""
    return f"{check['hits']} of {check['draws']}{upper}"


def claim_title(claim: Document) -> str:
    """Returns `fix, holds`."""
    return f"{CLAIM_WORDS.get(str(claim['kind']), claim['kind'])}, {claim['detail']}"


def counts(tally: Any) -> str:
    """Returns `22 of 24`."""
    return f"{tally['target']} of {tally['draws']}"


def evidence(e_value: float) -> str:
    """Returns an e-value in few characters."""
    return f"{e_value:,.0f}" if 1 <= e_value < 1e6 else f"{e_value:.2g}"


def cost(usd: float | None) -> str:
    """Returns `$0.0123`, or nothing."""
    return "" if usd is None else f"${usd:.4f}"


def clean(text: str) -> str:
    """Returns a text with a replacement character for every one that a document must not hold."""
    return _FORBIDDEN.sub("\ufffd", text)
