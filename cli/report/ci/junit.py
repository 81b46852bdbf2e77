"""JUnit XML, for servers that show test results: one test case an assertion, and one a claim about a fix."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .results import CiResults, Document, TestResult
from .wording import claim_title, clean, counts

_FIGURES = ("mode", "hits", "draws", "rate", "max_rate", "e_excess", "e_compliance", "model", "cost_usd")


def render_junit(results: CiResults) -> str:
    """Returns the document."""
    root = Element("testsuites", name=clean(results.title))
    tests = [(t, c) for t in results.tests for c in t.checks]
    fixes = [c for c in results.claims if c["kind"] == "fix"]
    if tests or not fixes:
        suite = _suite(root, "decisions", len(tests), sum(t.status not in ("passed", "skipped") for t, _ in tests))
        for test, check in tests:
            _check_case(suite, test, check)
    if fixes:
        suite = _suite(root, "fixes", len(fixes), sum(c["verdict"] != "supported" for c in fixes))
        for claim in fixes:
            _claim_case(suite, claim)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, tests: int, failures: int) -> Element:
    return SubElement(root, "testsuite", name=name, tests=str(tests), failures=str(failures), errors="0")


def _check_case(suite: Element, test: TestResult, check: Document) -> None:
    attributes = {"classname": test.file, "name": f"{test.name.rpartition('::')[2]}: {check['assertion']}"}
    case = _case(suite, attributes, test.duration_s)
    properties = SubElement(case, "properties")
    for figure in _FIGURES:
        if check[figure] not in (None, ""):
            SubElement(properties, "property", name=f"whyspan.{figure}", value=clean(str(check[figure])))
    if test.outcome == "skipped":
        SubElement(case, "skipped", message=clean(str(check["status"])))
    elif check["status"] != "passed" and test.outcome == "failed":
        failure = SubElement(case, "failure", message=clean(str(check["status"])), type=str(check["status"]))
        failure.text = clean(str(check["message"]))


def _claim_case(suite: Element, claim: Document) -> None:
    case = _case(suite, {"classname": str(claim["target"]), "name": str(claim["subject"])[:200]}, 0.0)
    if claim["verdict"] != "supported":
        failure = SubElement(case, "failure", message=clean(claim_title(claim)), type=str(claim["verdict"]))
        failure.text = f"{counts(claim['base'])} as recorded, {counts(claim['changed'])} with the change"


def _case(suite: Element, attributes: dict[str, str], duration_s: float) -> Element:
    cleaned = {name: clean(value) for name, value in attributes.items()}
    return SubElement(suite, "testcase", {**cleaned, "time": f"{duration_s:.3f}"})
