"""Words that make a text worth a look: of a user who complains, and of data that gives orders.

Regular expressions in DuckDB's dialect (RE2), matched without regard to case. They over-collect on purpose: what they
find is ranked and read by people or tested by replays, never believed.
"""

COMPLAINT = "|".join((
    r"\bthat('s| is| was)( not|n't| completely)? (wrong|incorrect|right|what i (asked|wanted|meant))\b",
    r"\b(i|we) (did ?n[o']t|never) (ask|want|say|said|agree|authori[sz]e|approve)",
    r"\bwhy (did|would) you\b",
    r"\byou (should(n't| not) have|were(n't| not) supposed to|misunderstood)\b",
    r"\b(please )?(undo|revert|roll (it|that|this) back|take (it|that) back)\b",
    r"\b(stop|wait),? (that|this|no)\b",
    r"\bthis is (a mistake|unacceptable|ridiculous)\b",
    r"(das ist falsch|rückgängig|ce n'est pas|annulez|eso no es|deshacer|それは違|错了|不对|撤销)",
))  # fmt: skip

ORDER = "|".join((
    r"\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|prior|above|all|earlier)\b.{0,30}"
    r"\b(instruction|prompt|rule|message)",
    r"\b(new|updated|important|urgent) (system )?(instruction|directive|notice)s?\b.{0,10}:",
    r"\b(note|instruction|message|attention)s? (to|for) (the |any |all )?(ai|assistant|agent|model|llm|bot)s?\b",
    r"\b(ai|assistant|agent|automated (assistant|system)s?|language model)s?\b.{0,40}"
    r"\b(must|should|shall|needs? to|are to|is to)\b",
    r"\b(do not|don't|never) (tell|inform|mention|notify|ask|alert)\b.{0,30}\b(user|customer|owner|human|anyone)\b",
    r"\b(without|no need) (asking|telling|informing|confirmation|to (ask|confirm))\b",
    r"\byou (are now|must now|have been authori[sz]ed)\b",
    r"<!--[^>]{20,}-->",
    r"[\x{200b}\x{2060}\x{e0020}-\x{e007f}]",
))  # fmt: skip

UNDOING = (
    ("add", "remove"), ("attach", "detach"), ("book", "cancel"), ("charge", "refund"), ("create", "delete"),
    ("create", "cancel"), ("disable", "enable"), ("enable", "disable"), ("grant", "revoke"), ("issue", "revoke"),
    ("issue", "cancel"), ("lock", "unlock"), ("move", "restore"), ("open", "close"), ("place", "cancel"),
    ("schedule", "cancel"), ("send", "recall"), ("send", "unsend"), ("start", "stop"), ("subscribe", "unsubscribe"),
)  # fmt: skip
"""(first word of a tool's name, first word of the tool that takes it back)."""
