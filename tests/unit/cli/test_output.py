"""Printing untrusted text, colour, tables."""

import io

import pytest

from whyspan.cli.output import Paint, printable, shorten, use_color, write_table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünï, 你好", "plain, ünï, 你好"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b]0;title\x07red\x1b[31m", "\\x1b]0;title\\x07red\\x1b[31m"),
        ("right\u202eto left", "right\\u202eto left"),
        ("lone \ud800 surrogate", "lone \\ud800 surrogate"),
        ("\r\x08", "\\r\\x08"),
    ],
)
def test_control_characters_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_paint_cleans_what_it_colours() -> None:
    assert Paint(True)("a\x1bb", fg="red") == "\x1b[31ma\\x1bb\x1b[0m"
    assert Paint(False)("a\x1bb", fg="red") == "a\\x1bb"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "forced", "colored"),
    [
        ({"TERM": "xterm"}, None, True),
        ({"TERM": "dumb"}, None, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, None, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, None, True),
    ],
)
def test_colour_follows_argument_then_environment_then_terminal(
    environ: dict[str, str], forced: bool | None, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert use_color(_Terminal(), forced) is colored


def test_a_pipe_has_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert use_color(io.StringIO()) is False


def test_shorten_keeps_short_text_and_marks_what_it_cut() -> None:
    assert shorten("a  b\nc", 10) == "a b c"
    assert shorten("abcdefgh", 5) == "abcd…"


def test_a_table_aligns_and_cleans_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(["name", "n"], [["a\x1b[0m", 1], [None, 22]])
    assert capsys.readouterr().out.splitlines() == ["name      n", "--------  --", "a\\x1b[0m  1", "          22"]
