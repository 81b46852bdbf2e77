"""Two calendars: what one agent says is told to the other, until one of them says that they have agreed."""

import re
from typing import Any


class Environment:
    """One appointment."""

    def reset(self, given: dict[str, Any]) -> dict[str, str]:
        """Begins with Ana."""
        self.free = {"ana": given["ana"], "ben": given["ben"]}
        self.speaker = "ana"
        self.hour: int | None = None
        return self._ask("ana", "")

    def step(self, action: dict[str, Any]) -> dict[str, str] | None:
        """Passes a message on; an agreement ends it."""
        found = re.search(r"agreed (\d+)", action["text"])
        if found:
            self.hour = int(found[1])
            return None
        self.speaker = "ben" if self.speaker == "ana" else "ana"
        return self._ask(self.speaker, action["text"])

    def score(self) -> dict[str, Any]:
        """Returns 1 for an hour that suits both."""
        suits = all(self.hour in hours for hours in self.free.values())
        advice = [] if suits else ["name all hours that suit you at once", "write in complete sentences"]
        return {"score": float(suits), "feedback": advice, "metrics": {"hour": self.hour}}

    def _ask(self, agent: str, said: str) -> dict[str, str]:
        hours = ", ".join(map(str, self.free[agent]))
        told = f" Your colleague says: {said}" if said else ""
        return {"to": agent, "text": f"You are free at {hours}.{told}"}
