"""A stand-in for a model: names one hour at a time, until it is told to name all of them."""

import re
from typing import Any


def agree(request: dict[str, Any]) -> str:
    """Answers a chat request with hours, or agrees to one."""
    told = " ".join(m["content"] for m in request["messages"] if m["role"] == "system")
    asked = request["messages"][-1]["content"]
    mine, _, theirs = asked.partition("Your colleague says:")
    free, offered = _hours(mine), _hours(theirs)
    common = [hour for hour in offered if hour in free]
    if common:
        return f"agreed {common[0]}"
    if "name all hours" in told:
        return "I could do " + ", ".join(map(str, free))
    turn = sum(m["role"] == "assistant" for m in request["messages"])
    return f"How about {free[turn % len(free)]}?"


def _hours(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
