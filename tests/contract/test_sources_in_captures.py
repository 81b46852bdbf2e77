"""In the traces of every instrumentation, the pieces of later requests are found in the calls that they came from."""

from pathlib import Path

import pytest
from captures import CAPTURES, rebuilt

from whyspan.analysis.attribution.chain.sources import Way, find_source
from whyspan.analysis.attribution.problem import Role
from whyspan.analysis.segments import Segment, segment
from whyspan.ingest.calls import ModelCall

GREETING = ("Grüezi", "Grüezi, wie kann ich helfen?")
"""What the recorded agents put into the model's mouth: no call wrote it."""
INCOMPLETE_REPLIES = {"message_events/botocore", "openllmetry/ollama"}
"""Captures whose replies lack a text or the tool calls."""
RUNS = [c for c in CAPTURES if len(rebuilt(c)) > 1 and f"{c.parent.name}/{c.name}" not in INCOMPLETE_REPLIES]


def pieces(call: ModelCall, *roles: Role) -> list[Segment]:
    return [p for p in segment(call.api, call.request).segments if p.role in roles and p.text not in GREETING]


@pytest.mark.parametrize("capture", RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_the_run_brought_in_has_a_source(capture: Path) -> None:
    calls = rebuilt(capture)
    for n, call in enumerate(calls):
        for piece in pieces(call, Role.TOOL, Role.CALL_ARGUMENTS, Role.ASSISTANT):
            found = find_source(piece, call.request, call.span_id, calls)
            assert found, (piece.role, piece.text)
            assert found.call in calls[:n]
            assert (found.way is Way.RESULT) <= (piece.role is Role.TOOL)
