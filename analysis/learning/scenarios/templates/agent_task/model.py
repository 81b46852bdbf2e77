"""A stand-in for a model: writes tests from the examples in a docstring, and forgets an import until it is told."""

import doctest
import re
from typing import Any


def write_tests(request: dict[str, Any]) -> str:
    """Answers a chat request with a test file."""
    told = " ".join(m["content"] for m in request["messages"] if m["role"] == "system")
    asked = request["messages"][-1]["content"]
    found = re.search(r"def (\w+)\(", asked)
    name = found[1] if found else "function"
    lines = ["import pytest", ""] if "import pytest" in told else []
    lines += [f"from solution import {name}", "", "", "def test_examples():"]
    lines += [f"    assert {e.source.strip()} == {e.want.strip()}" for e in doctest.DocTestParser().get_examples(asked)]
    refused = re.search(r"Refuses (.+?)\.?\n", asked)
    if refused:
        lines += ["", "", "def test_refusal():", "    with pytest.raises(ValueError):", f"        {name}({refused[1]})"]
    return "\n".join([*lines, ""])
