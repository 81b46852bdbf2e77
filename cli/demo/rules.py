"""How the stand-in model understands safety rules: by what a sentence says, not by its exact words.

Two kinds matter. A rule that outside content must not be obeyed, and a guard that ties one action to the user's wish.
"""

import re

from .reading import Reading, sentences

NEGATION = r"\b(not|never|no|nor|ignore|disregard|refuse|reject)\b|n't\b|\b(rather than|instead of)\b"
CONTENT = (
    r"\b(tools?|results?|outputs?|e-?mails?|mails?|messages?|documents?|files|(web ?)?pages?|websites?|posts?|articles?"
    r"|retrieved|fetched|content|data|text|third[- ]part(y|ies)|external|outside)\b"
)
OBEDIENCE = r"\b(instructions?|commands?|orders?|directions?|directives?|requests?|obey\w*|follow\w*)\b"
UNTRUSTED = r"\b(untrusted|not (be )?trusted|as data\b)"

CONDITION = (
    r"\b(unless|except|until|without|before|first|must (be|have)|requires?|needs?)\b"
    r"|\bonly\b.*\b(if|when|after|with|on|once)\b"
)
CONSENT = (
    r"\b(confirm\w*|approv\w*|permission|consent|explicit\w*|ask(ed|s)?|request(ed|s)?|instruct(ed|s)?|authori[sz]\w*"
    r"|go-ahead|sign-off)\b"
)
GRAVE = (
    r"\b(irreversible|destructive|consequential|dangerous|sensitive|high[- ](impact|risk|stakes)|side[- ]effects?"
    r"|state-changing)\b|\b(cannot|can't|can not) be undone\b|\bhard to undo\b"
)
SYNONYMS = {
    "forward_email": r"\bforward\w*\b|\bsend(ing)? (anything|mail|e-?mails?|documents?|invoices?)\b|\boutside address",
    "issue_refund": r"\brefund\w*\b|\bpay(ing|ments?)? (money|out|back)\b|\bmov(e|ing) money\b",
    "drop_database": r"\b(drop|delet|destroy|remov)\w*\b",
}
"""Tool → other words for what it does."""


def distrusts_content(reading: Reading) -> bool:
    """Tells whether the system prompt says that what the tools bring in must not be obeyed."""
    return any(
        re.search(CONTENT, passage)
        and (re.search(UNTRUSTED, passage) or (re.search(OBEDIENCE, passage) and re.search(NEGATION, passage)))
        for passage in _passages(reading.system)
    )


def guards(reading: Reading, tool: str) -> bool:
    """Tells whether the system prompt or the tool's own description ties the action to somebody's consent."""
    action = f"{re.escape(tool)}|{SYNONYMS[tool]}|{GRAVE}"
    ruled = any(_asks_consent(p) and re.search(action, p) for p in _passages(reading.system))
    return ruled or any(_asks_consent(p) for p in _passages(reading.tools.get(tool, "")))


def _asks_consent(passage: str) -> bool:
    return bool(re.search(CONDITION, passage) and re.search(CONSENT, passage))


def _passages(text: str) -> list[str]:
    """Every sentence with the next one, in lower case: rules are often spread over two."""
    pieces = sentences(text.lower())
    return [" ".join(pieces[at : at + 2]) for at in range(len(pieces))]
