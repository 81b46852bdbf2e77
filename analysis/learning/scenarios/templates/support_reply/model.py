"""Stand-ins for two models: one that answers customers, and one that judges answers by a rubric."""

import json
import re
from typing import Any


def answer(request: dict[str, Any]) -> str:
    """Answers a customer; the ticket number is only there once the prompt asks for it."""
    told = " ".join(m["content"] for m in request["messages"] if m["role"] == "system")
    number = re.search(r"T-\d+", request["messages"][-1]["content"])
    reference = f" Your ticket is {number[0]}." if number and "ticket number" in told else ""
    return f"Thank you for your message, and sorry for the trouble.{reference} We will write again within a day."


def judge(request: dict[str, Any]) -> str:
    """Scores an answer: half for what happens next, half for the ticket number."""
    shown = request["messages"][-1]["content"]
    output = shown.rpartition("Output:")[2]
    has_number = re.search(r"T-\d+", output) is not None
    score = 0.5 * ("We will" in output) + 0.5 * has_number
    return json.dumps({"score": score, "feedback": [] if has_number else ["state the ticket number in the answer"]})
