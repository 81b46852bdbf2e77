"""The playbook keeps what people wrote, computes what it states, and serves what is in force."""

from pathlib import Path

import pytest

from whyspan.analysis.learning.lessons.evidence import Book
from whyspan.analysis.learning.lessons.lesson import Lesson, with_lessons
from whyspan.analysis.learning.lessons.playbook import Playbook, Status
from whyspan.analysis.learning.lessons.shelf import Shelf, changes
from whyspan.ingest.calls import Api
from whyspan.ingest.errors import FormatError, UsageError

WRITTEN = """\
# Rules for the mail assistant, reviewed by Dana
- id: rule_007
  condition: a mail asks for money   # often
  action: ask first
  status: proposed
"""
EVIDENCE = {"claim": "clm_1", "e": 2048.0, "epoch": "ep_1"}


def test_a_change_keeps_comments_order_and_everything_else(tmp_path: Path) -> None:
    path = tmp_path / "playbook.yaml"
    path.write_text(WRITTEN)
    book = Playbook(path)
    book.put(book.items[0].lesson, Status.ACTIVE, evidence=EVIDENCE, scope={})
    book.put(Lesson(action="be brief"), Status.PROPOSED, evidence={}, scope={})
    book.save()
    text = path.read_text()
    assert text.startswith("# Rules for the mail assistant, reviewed by Dana\n- id: rule_007\n")
    assert "  condition: a mail asks for money   # often\n" in text
    assert "confidence: 0.999512" in text
    assert [(i.id, i.status) for i in Playbook(path).items] == [
        ("rule_007", Status.ACTIVE),
        ("rule_008", Status.PROPOSED),
    ]


def test_the_same_words_are_the_same_lesson() -> None:
    assert Lesson(condition="Asked", action="Be  brief.").id == Lesson(condition="asked", action="be brief").id
    assert Lesson(action="be brief", rationale="x").id == Lesson(action="be brief").id
    assert Lesson(action="be brief").id != Lesson(action="be kind").id


def test_lessons_are_served_in_an_order_of_their_own() -> None:
    request = {"model": "m", "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]}
    lessons = [Lesson(action="be brief"), Lesson(action="be kind")]
    served = with_lessons(Api.OPENAI_CHAT, request, lessons)
    assert served == with_lessons(Api.OPENAI_CHAT, request, lessons[::-1])
    assert served["messages"][0]["content"].startswith("S\n\nLessons from earlier runs")
    assert with_lessons(Api.OPENAI_CHAT, request, []) == request


def test_a_roll_back_serves_the_bundle_before(tmp_path: Path) -> None:
    shelf, first, second = Shelf(tmp_path), Lesson(action="a"), Lesson(action="b")
    shelf.serve([first])
    shelf.serve([first, second])
    assert list(changes(shelf.before, shelf.lessons)) == ["+ b"]
    assert shelf.roll_back() == {first.id: "a"}
    with pytest.raises(UsageError):
        shelf.roll_back()


def test_a_test_is_counted_before_it_is_done_and_once_a_run(tmp_path: Path) -> None:
    book = Book(tmp_path / "tests.jsonl")
    first = book.reserve("l1", epoch="e", run="r1", alpha=0.01)
    assert Book(tmp_path / "tests.jsonl").reserve("l1", epoch="e", run="r1", alpha=0.01) == first
    assert book.reserve("l2", epoch="e", run="r1", alpha=0.01).number == 2
    assert book.reserve("l1", epoch="e", run="r2", alpha=0.01).number == 3
    assert book.knows("l1", epoch="e", run="r3")
    assert not book.knows("l1", epoch="other", run="r3")


def test_a_torn_last_line_is_dropped_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    Book(path).reserve("l1", epoch="e", run="r1", alpha=0.01)
    whole = path.read_text()
    path.write_text(whole + '{"lesson": "l2", "ep')
    assert Book(path).tested == 1
    assert path.read_text() == whole
    path.write_text("{}\n" + whole)
    with pytest.raises(FormatError, match=r"tests\.jsonl:1"):
        Book(path)
