"""A stand-in for a model: takes the first price, until it is told to make a counter-offer."""

import re
from typing import Any


def bargain(request: dict[str, Any]) -> str:
    """Answers a chat request with an offer, or accepts."""
    said = {role: " ".join(m["content"] for m in request["messages"] if m["role"] == role) for role in _ROLES}
    asking = int(re.findall(r"asks (\d+)", said["user"])[-1])
    if "counter-offer" in said["system"] and "I offer" not in said["assistant"]:
        return f"I offer {asking * 6 // 10}"
    return f"I accept {asking}"


_ROLES = ("system", "user", "assistant")
