"""The artefacts of a CI run, rendered from results that hold what an attacker would write into a trace."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sarif_pydantic import Sarif

from whyspan.cli.report.ci.artefacts import ARTEFACTS, write_artefacts
from whyspan.cli.report.ci.junit import render_junit
from whyspan.cli.report.ci.page import render_html
from whyspan.cli.report.ci.results import CiResults, TestResult, read_results
from whyspan.cli.report.ci.sarif import render_sarif
from whyspan.cli.report.ci.summary import COMMENT_LIMIT, MARKER, code, fenced, render_comment, render_summary
from whyspan.ingest.errors import FormatError, StoreError

EVIL = "<script>alert(1)</script> ``` `x` | @everyone \x00\x1b[31m \ud800 ]]> ${{ secrets.KEY }}"


def make_check(**over: Any) -> dict[str, Any]:
    check = {
        "status": "failed", "message": f"expected: never calls pay\n8 of 8 replays went against it {EVIL}",
        "assertion": f"never calls {EVIL}", "max_rate": 0.05, "mode": "live", "case": "pay.case.json",
        "case_path": "/p/cases/pay.case.json", "case_id": "0" * 64, "target": "tool:pay", "trace_id": "ab" * 16,
        "span_id": "cd" * 8, "prompt_path": None, "model": EVIL, "hits": 8, "draws": 8, "rate": 1.0,
        "interval": [0.56, 1.0], "e_excess": 65536.0, "e_compliance": 1e-6, "input_tokens": 10, "output_tokens": 2,
        "cost_usd": 0.0123,
    }  # fmt: skip
    return {**check, **over}


def make_claim(**over: Any) -> dict[str, Any]:
    tally = {"target": 22, "draws": 24, "rate": 22 / 24}
    claim = {
        "id": "c" * 64, "case_id": "0" * 64, "kind": "fix", "detail": "harmful", "verdict": "harmful", "scope": "case",
        "subject": EVIL, "target": "tool:pay", "effect": -0.9, "interval": [-1.0, -0.5], "base": tally,
        "changed": {**tally, "target": 0, "rate": 0.0}, "e_value": 3.2e12, "alpha": 0.01, "calls": 48, "model": "m",
    }  # fmt: skip
    return {**claim, **over}


def make_test(name: str = "tests/test_pay.py::test_pay", **over: Any) -> TestResult:
    test = TestResult(
        name=name, file="tests/test_pay.py", line=12, outcome="failed", duration_s=1.5, message="",
        checks=(make_check(),),
    )  # fmt: skip
    return replace(test, **over)


def make_results(**over: Any) -> CiResults:
    passing = make_test(
        "tests/test_ok.py::test_ok",
        outcome="passed",
        checks=(make_check(status="passed", message="", hits=0, draws=16, rate=0.0, interval=[0.0, 0.2]),),
    )
    recorded = make_check(
        status="stale", mode="recorded", message="stale: x\n-old\n+new", draws=0, rate=None, interval=None,
        cost_usd=None, prompt_path="prompts/pay.md",
    )  # fmt: skip
    stale = make_test("tests/test_stale.py::test_stale", checks=(recorded,))
    results = CiResults(
        title=EVIL, created_at="2026-01-01T00:00:00+00:00", tests=(make_test(), passing, stale), claims=(make_claim(),)
    )
    return replace(results, **over)


class Tags(HTMLParser):
    """Collects tags and attributes, and checks that the page is well nested."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(k, v or "") for k, v in attrs]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(k, v or "") for k, v in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def close(self) -> None:
        super().close()
        assert not self._open


def parsed(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    tags.close()
    return tags


def test_the_page_runs_nothing_and_loads_nothing() -> None:
    page = parsed(render_html(make_results()))
    assert not {"script", "link", "img", "iframe", "object", "form", "a"} & set(page.tags)
    assert not [k for k, _ in page.attributes if k.startswith("on") or k in {"src", "href", "action"}]


def test_the_page_shows_what_a_trace_says_as_text() -> None:
    html = render_html(make_results())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>alert" not in html


def test_the_page_forbids_what_it_does_not_need() -> None:
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in parsed(
        render_html(make_results())
    ).attributes


def test_the_page_is_for_light_and_dark() -> None:
    assert "prefers-color-scheme: dark" in render_html(make_results())


def test_the_page_names_the_command_that_explains_a_failure() -> None:
    assert "whyspan why abababababab span:cdcdcdcd" in render_html(make_results())


def test_an_empty_run_says_so() -> None:
    assert "There is nothing to show" in render_html(make_results(tests=(), claims=()))


def test_the_summary_counts_by_status_with_failures_first() -> None:
    text = render_summary(make_results())
    assert "❌ 1 failed, 1 stale, 1 passed" in text
    assert "8 of 8, 95 % interval 0.56 to 1.00" in text


def test_rows_of_the_summary_have_all_columns_whatever_the_trace_says() -> None:
    rows = [line for line in render_summary(make_results()).splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 3 + 1 + 1
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 7


@pytest.mark.parametrize("text", ["plain", "`", "a``b", "`` ` ``", "", "a|b", "x\ny", EVIL])
def test_a_code_span_cannot_be_ended_by_its_text(text: str) -> None:
    span = code(text)
    fence = re.match(r"`+", span)
    assert fence is not None
    assert span.endswith(fence[0])
    inside = span[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in re.findall(r"`+", inside)
    assert "\n" not in span


@pytest.mark.parametrize("text", ["```", "a\n````\nb", EVIL])
def test_a_code_block_cannot_be_ended_by_its_text(text: str) -> None:
    first, *inside, last = fenced(text)
    assert first == f"{last}text"
    assert not [line for line in inside if line.startswith(last)]


def test_a_comment_has_its_marker_and_fits() -> None:
    many = tuple(make_test(f"tests/test_{n}.py::test", checks=(make_check(message="x" * 5_000),)) for n in range(40))
    text = render_comment(make_results(tests=many, title="t"), link="https://ci.example/1")
    assert text.startswith(MARKER + "\n")
    assert len(text) <= COMMENT_LIMIT
    assert "more failures are in the full report" in text
    assert "[full report](https://ci.example/1)" in text
    assert text.count("<details>") == text.count("</details>") > 0


def test_junit_is_well_formed_and_counts() -> None:
    root = ElementTree.fromstring(render_junit(make_results()))
    suites = {s.attrib["name"]: s for s in root.iter("testsuite")}
    assert (suites["decisions"].attrib["tests"], suites["decisions"].attrib["failures"]) == ("3", "2")
    assert (suites["fixes"].attrib["tests"], suites["fixes"].attrib["failures"]) == ("1", "1")
    assert len(list(root.iter("failure"))) == 3
    values = {p.attrib["name"]: p.attrib["value"] for p in next(root.iter("properties"))}
    assert values["whyspan.draws"] == "8"


def test_junit_of_a_skipped_test_says_so() -> None:
    skipped = make_test(outcome="skipped", checks=(make_check(status="inconclusive"),))
    root = ElementTree.fromstring(render_junit(make_results(tests=(skipped,), claims=())))
    assert len(list(root.iter("skipped"))) == 1
    assert not list(root.iter("failure"))


def test_sarif_is_valid_and_points_at_prompt_files() -> None:
    document = json.loads(render_sarif(make_results(prompt_path="prompts/agent.md")))
    sarif = Sarif.model_validate(document)
    results = sarif.runs[0].results or []
    assert [r.rule_id for r in results] == ["failed", "stale", "harmful"]
    places = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in document["runs"][0]["results"]]
    assert places == ["prompts/agent.md", "prompts/pay.md", "prompts/agent.md"]


def test_sarif_points_at_the_test_where_no_prompt_file_is_known() -> None:
    first = json.loads(render_sarif(make_results()))["runs"][0]["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "tests/test_pay.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 12}


def test_sarif_fingerprints_stay_the_same_from_run_to_run() -> None:
    def prints(results: CiResults) -> list[Any]:
        return [r["partialFingerprints"] for r in json.loads(render_sarif(results))["runs"][0]["results"]]

    later = make_results(created_at="2027-01-01T00:00:00+00:00")
    assert prints(make_results()) == prints(later)
    assert len({json.dumps(p) for p in prints(later)}) == len(prints(later))


def test_artefacts_are_written_and_read_back(tmp_path: Path) -> None:
    results = make_results(title="t", claims=(make_claim(subject="s"),))
    clean = tuple(
        replace(t, checks=tuple({**c, "assertion": "a", "message": "m", "model": "m"} for c in t.checks))
        for t in results.tests
    )
    results = replace(results, tests=clean)
    written = write_artefacts(tmp_path / "out", results)
    assert {p.name for p in written} == set(ARTEFACTS)
    assert read_results(tmp_path / "out") == results


def test_artefacts_can_hold_any_text(tmp_path: Path) -> None:
    assert all(p.stat().st_size for p in write_artefacts(tmp_path, make_results()))


def test_a_folder_that_cannot_be_made_is_an_error_with_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be written"):
        write_artefacts(tmp_path / "file" / "out", make_results(title="t"))


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 9}', '{"schema_version": 1}'])
def test_a_damaged_claims_file_is_an_error_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "claims.json").write_text(text)
    with pytest.raises(FormatError, match=r"claims\.json"):
        read_results(tmp_path)
