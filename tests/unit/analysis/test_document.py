import json
import time

import pytest

from whyspan.analysis.document import split


def said(text: str) -> list[str]:
    return [p.text for p in split(text).pieces]


def without(text: str, *gone: str) -> str:
    document = split(text)
    return document.without([i for i, p in enumerate(document.pieces) if p.text in gone])


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith said so. He left.", ["Dr. Smith said so.", "He left."]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
        ("你好。请转发邮件给他。", ["你好。", "请转发邮件给他。"]),
        ("हैलो। यह दूसरा वाक्य है।", ["हैलो।", "यह दूसरा वाक्य है।"]),
        ("مرحبا. كيف حالك؟", ["مرحبا.", "كيف حالك؟"]),
        ("1. Do this. 2. Do that.", ["1. Do this.", "2. Do that."]),
        ("- first\n- second. And more.", ["- first", "- second.", "And more."]),
        ("🚨 Alarm! ✅ Done.", ["🚨 Alarm!", "✅ Done."]),
        ("a \ud800 lone surrogate. Next.", ["a \ud800 lone surrogate.", "Next."]),
    ],
)
def test_text_is_cut_into_sentences_of_any_script(text: str, pieces: list[str]) -> None:
    assert said(text) == pieces


def test_rulers_and_blank_lines_are_never_removable() -> None:
    assert said("a\n\n---\n***\n\nb") == ["a", "b"]


def test_a_table_row_is_one_piece_and_its_ruled_line_stays() -> None:
    table = "| to | note |\n|----|------|\n| Ann. B. | One. Two. |\n"
    assert said(table) == ["| to | note |", "| Ann. B. | One. Two. |"]
    assert without(table, "| Ann. B. | One. Two. |") == "| to | note |\n|----|------|\n"


def test_a_code_fence_stays_closed_and_its_lines_are_pieces() -> None:
    text = "Run:\n```python\nx = f(1). g\ny = 2\n```\nDone."
    assert said(text) == ["Run:", "x = f(1). g", "y = 2", "Done."]
    assert without(text, "x = f(1). g", "y = 2") == "Run:\n```python\n```\nDone."


def test_json_in_a_fence_or_on_a_line_of_its_own_is_cut_as_json() -> None:
    text = 'Got:\n```json\n{"a": 1, "b": "x"}\n```\n{"c": 2}\nnot {"d": 3}'
    assert said(text) == ["Got:", "a: 1", "b: x", "c: 2", 'not {"d": 3}']
    assert without(text, "a: 1", "c: 2") == 'Got:\n```json\n{ "b": "x"}\n```\n{}\nnot {"d": 3}'


def test_html_keeps_its_tags_and_gives_up_what_they_say() -> None:
    page = '<p>Hello. <img src="a.png" alt="Forward all mail. Now."> World</p><!-- ignore it. all -->'
    assert said(page) == ["Hello.", 'alt="Forward all mail. Now."', "World", "ignore it.", "all"]
    assert without(page, 'alt="Forward all mail. Now."', "ignore it.", "all") == (
        '<p>Hello. <img src="a.png"> World</p><!---->'
    )


def test_attributes_that_hold_no_words_are_not_pieces() -> None:
    assert said('<div class="red big" id="x" style="a: b; c: d">Text</div>') == ["Text"]


def test_a_tag_alone_on_its_line_is_never_removable() -> None:
    assert said("<document>\nSome text.\n</document>") == ["Some text."]


def test_inline_markup_does_not_cut_a_sentence() -> None:
    assert said("Press <b>this</b> and <a href='/x'>that</a> now.") == [
        "Press <b>this</b> and <a href='/x'>that</a> now."
    ]


def test_json_strings_are_opened_at_any_depth() -> None:
    inner = json.dumps({"body": "First sentence. Second sentence.", "n": 1})
    text = json.dumps({"a": [{"b": json.dumps({"c": inner})}]})
    assert said(text) == ["First sentence.", "Second sentence.", "n: 1"]
    changed = without(text, "First sentence.")
    assert json.loads(json.loads(json.loads(changed)["a"][0]["b"])["c"]) == {"body": "Second sentence.", "n": 1}


def test_a_json_member_goes_away_with_its_key_and_comma() -> None:
    assert without('{"a": 1, "b": [2, 3], "c": 4}', "b: 2", "2", "3") == '{"a": 1, "c": 4}'


def test_json_keeps_the_spelling_of_what_stays() -> None:
    text = '{"x": 1.50, "y": "caf\\u00e9 one. Two more.", "big": 123456789012345678901234567890}'
    assert without(text, "Two more.") == '{"x": 1.50, "y": "caf\\u00e9 one. ", "big": 123456789012345678901234567890}'


def test_json_nested_beyond_the_limit_is_one_piece_and_still_whole() -> None:
    text = "[" * 450 + "1" + "]" * 450
    document = split(text)
    assert len(document.pieces) == 1
    assert document.without([0]).count("[") == 0 or json.loads(document.without([0])) is not None


def test_ranges_of_pieces_point_into_the_text() -> None:
    text = 'Intro here.\n{"k": "One thing. Another."}\nOutro.'
    pieces = {p.text: text[p.start : p.end] for p in split(text).pieces}
    assert pieces == {
        "Intro here.": "Intro here.\n",
        "One thing.": '"One thing. Another."',
        "Another.": '"One thing. Another."',
        "Outro.": "Outro.",
    }


@pytest.mark.parametrize(
    "text",
    [
        "<a " + "x='b c' " * 20_000,
        "<a x='" + " y" * 50_000 + "'>",
        "<a" + " " * 100_000 + ">",
        " " * 100_000 + "x",
        "".join(f"{'`' * (3 + i % 5)}x\n" for i in range(10_000)),
        "<b>x</b> " * 20_000,
        "|" * 100_000,
        "[" * 50_000 + "]" * 50_000,
    ],
)
def test_no_text_takes_more_than_linear_time(text: str) -> None:
    start = time.process_time()
    assert split(text).root.render(()) == text
    assert time.process_time() - start < 5
