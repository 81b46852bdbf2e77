import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyspan.analysis.canonical import canonical_arguments, canonical_json, digest, encode_json

VALUES = [
    {"b": 1, "a": [None, True, 1.5, "é", "\u2028"]},
    {"big": 12345678901234567890123456789},
    "lone \ud83d surrogate",
    {"\ud83d": ["\ud83d"]},
    [],
    -0.0,
]


@pytest.mark.parametrize("value", VALUES)
def test_canonical_json_reads_back_as_the_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value
    assert json.loads(encode_json(value)) == value


def test_the_order_of_keys_does_not_matter_and_that_of_items_does() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([1, 2]) != digest([2, 1])


def test_the_digest_of_a_value_never_changes() -> None:
    assert digest({"model": "m", "n": [1, "é"]}) == "cf68ce754a44f0133eaa3dbf6bc693bbb24c0e6f6fb7a28c1dd0934f50af0860"


@given(st.text())
def test_arguments_that_are_no_json_stay_as_they_are(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert json.loads(canonical_arguments(text)) == text


def test_formatting_of_arguments_does_not_matter() -> None:
    assert canonical_arguments('{ "b": 1,\n "a": "x" }') == canonical_arguments('{"a":"x","b":1}')
