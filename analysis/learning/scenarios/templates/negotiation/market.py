"""A seller who meets an offer half-way, down to a price that the buyer is not told."""

import re
from typing import Any


class Environment:
    """One deal."""

    def reset(self, given: dict[str, Any]) -> str:
        """Names the first price."""
        self.first = self.asking = given["asking"]
        self.lowest = given["lowest"]
        self.paid: int | None = None
        return f"You want to buy {given['item']}. The seller asks {self.asking}."

    def step(self, action: dict[str, Any]) -> str | None:
        """Answers an offer; the deal is over when the buyer accepts, or says neither."""
        found = re.search(r"I (offer|accept) (\d+)", action["text"])
        if found is None:
            return None
        if found[1] == "accept":
            self.paid = self.asking
            return None
        self.asking = max(self.lowest, (self.asking + int(found[2])) // 2)
        return f"The seller asks {self.asking} now."

    def score(self) -> dict[str, Any]:
        """Returns how much of what could be saved was saved."""
        if self.paid is None:
            return {"score": 0.0, "feedback": ["end every deal with `I accept N`"]}
        saved = (self.first - self.paid) / (self.first - self.lowest)
        advice = [] if saved > 0.5 else ["make a counter-offer before you accept a price", "stay friendly"]
        return {"score": saved, "feedback": advice, "metrics": {"paid": self.paid}}
