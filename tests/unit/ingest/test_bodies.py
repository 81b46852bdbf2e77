import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyspan.ingest.errors import StoreError
from whyspan.ingest.store.bodies import Bodies, unfold

TRACE = "0" * 32


def bodies_of(bodies: Bodies) -> dict[str, str]:
    return {row.hash: row.body.decode() for row in bodies.rows}


def message(n: int) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": f"turn {n}: " + f"word{n} " * 60}]}


text = st.text(st.sampled_from('{}[]",: ab\\\né€😀'), max_size=400)
chunk = st.sampled_from(["}, {", "},{", '}], "', "}]", "x" * 130, '{"role":"user"}', "é" * 70])


@given(st.lists(st.one_of(text, st.lists(chunk, max_size=12).map("".join)), max_size=5))
def test_any_text_comes_back_byte_for_byte(texts: list[str]) -> None:
    bodies = Bodies(1)
    folded = [bodies.fold(TRACE, 0, "key", one.encode()) for one in texts]
    assert [unfold(one, bodies_of(bodies)) for one in folded] == texts


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")], ids=["spaced", "compact"])
def test_a_conversation_sent_again_with_every_turn_is_kept_once(separators: tuple[str, str]) -> None:
    bodies, turns = Bodies(1), [message(n) for n in range(50)]
    sent = [json.dumps(turns[:n], separators=separators) for n in range(1, 51)]
    folded = [bodies.fold(TRACE, 0, "gen_ai.input.messages", one.encode()) for one in sent]
    assert [unfold(one, bodies_of(bodies)) for one in folded] == sent
    assert sum(len(row.body) for row in bodies.rows) < 1.02 * len(sent[-1])


def test_a_raw_request_shares_messages_and_tools_with_the_next_one() -> None:
    bodies, turns = Bodies(1), [message(n) for n in range(20)]
    tools = [{"type": "function", "function": {"name": f"t{n}", "description": "d" * 400}} for n in range(4)]
    sent = [json.dumps({"model": "m", "messages": turns[:n], "tools": tools, "seed": n}) for n in range(1, 21)]
    folded = [bodies.fold(TRACE, 0, "input.value", one.encode()) for one in sent]
    assert [unfold(one, bodies_of(bodies)) for one in folded] == sent
    assert sum(len(row.body) for row in bodies.rows) < 1.2 * len(sent[-1])


def test_text_is_shared_between_attributes_of_a_trace_but_not_between_traces() -> None:
    bodies = Bodies(1)
    for trace in (TRACE, "1" * 32):
        for key in ("a", "b"):
            bodies.fold(trace, 0, key, b"long " * 300)
    assert [row.trace_id for row in bodies.rows] == [TRACE, "1" * 32]


def test_a_missing_piece_is_an_error_that_names_it() -> None:
    bodies = Bodies(1)
    folded = bodies.fold(TRACE, 0, "k", b"long " * 300)
    with pytest.raises(StoreError, match=f"trace {TRACE} lacks the message {bodies.rows[0].hash}"):
        unfold(folded, {})
