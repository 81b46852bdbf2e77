"""What holds for every text: nothing is lost, nothing overlaps, and JSON stays JSON whatever is removed."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from whyspan.analysis.document import split

SNIPPETS = st.sampled_from(
    ["Hello there. ", "One! Two?", "\n", "\n\n", "<p>", "</p>", "<!--", "-->", '<img alt="a b. c">', "| a | b |\n",
     "|--|\n", "```\n", "```json\n", "{", "}", '{"a": 1}', "[1, 2]", "这是。那是。", "1. ", "- ", "\ud800", "\u2028",
     "\r\n", "<x y='a b'>"]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(st.one_of(SNIPPETS, st.text(max_size=5))).map("".join))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=12,
)


def some(count: int, data: st.DataObject) -> set[int]:
    return data.draw(st.sets(st.integers(0, max(0, count - 1)), max_size=count)) if count else set()


@given(TEXTS)
def test_a_text_without_removals_is_itself(text: str) -> None:
    assert split(text).root.render(()) == text


@given(TEXTS.filter(lambda t: "{" not in t and "[" not in t), st.data())
def test_removing_pieces_of_prose_only_takes_their_characters_away(text: str, data: st.DataObject) -> None:
    document = split(text)
    removed = some(len(document.pieces), data)
    gone = {i for n in removed for i in range(document.pieces[n].start, document.pieces[n].end)}
    assert document.without(removed) == "".join(c for i, c in enumerate(text) if i not in gone)


@given(TEXTS)
def test_pieces_of_prose_lie_in_order_and_do_not_overlap(text: str) -> None:
    places = [(p.start, p.end) for p in split(text).pieces]
    assert all(start < end <= len(text) for start, end in places)
    assert places == sorted(places)


@given(JSON, st.booleans(), st.data())
def test_json_stays_json_of_its_kind_whatever_is_removed(value: Any, ascii_only: bool, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=data.draw(st.sampled_from([None, 2])))
    document = split(text)
    changed = document.without(some(len(document.pieces), data))
    if isinstance(value, dict | list):
        assert type(json.loads(changed)) is type(value)


@given(st.one_of(st.lists(JSON, max_size=4), st.dictionaries(st.text(max_size=6), JSON, max_size=4)))
def test_json_without_any_piece_is_empty_of_scalars(value: Any) -> None:
    document = split(json.dumps(value))
    left = json.loads(document.without(range(len(document.pieces))))
    assert not any(isinstance(v, str | int | float) and str(v).strip().isalnum() for v in scalars(left))


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [s for v in value.values() for s in scalars(v)]
    return [s for v in value for s in scalars(v)] if isinstance(value, list) else [value]
