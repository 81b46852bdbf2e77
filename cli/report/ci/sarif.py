"""SARIF 2.1.0, so that a failed assertion is shown at the prompt that lets it happen, where that file is known.

Format: OASIS, Static Analysis Results Interchange Format, version 2.1.0. A result needs a rule, a level and a location;
its fingerprint keeps it the same result from run to run.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from .... import __version__
from .results import CiResults, Document, TestResult
from .wording import STATUS_WORDS, clean, counts

RULES = {
    "failed": ("An agent's decision goes against an assertion", "error"),
    "stale": ("The request is not the one that was verified", "warning"),
    "unverified": ("An assertion was never verified", "warning"),
    "inconclusive": ("The budget ended before the rate was clear", "note"),
    "harmful": ("A change of the prompt breaks decisions that were right", "error"),
}
"""Rule id → (its meaning, its level)."""


def render_sarif(results: CiResults) -> str:
    """Returns the document."""
    rules = [
        {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for name, (text, level) in RULES.items()
    ]
    driver = {"name": "whyspan", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [*_tests(results), *_claims(results)], "columnKind": "utf16CodeUnits"}
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _tests(results: CiResults) -> Iterator[dict[str, Any]]:
    for test in results.tests:
        for check in test.checks:
            if check["status"] in RULES:
                yield _check(results, test, check)


def _check(results: CiResults, test: TestResult, check: Document) -> dict[str, Any]:
    prompt = check["prompt_path"] or results.prompt_path
    where = _location(str(prompt), 1) if prompt else _location(test.file, test.line)
    status = str(check["status"])
    message = str(check["message"]).splitlines()
    text = f"{check['assertion']}: {message[1] if status == 'failed' and len(message) > 1 else STATUS_WORDS[status]}"
    return _result(status, text, where, test.name, str(check["assertion"]))


def _claims(results: CiResults) -> Iterator[dict[str, Any]]:
    """Yields harmful fixes; only where the prompt's file is known, since a result without a place shows nowhere."""
    for claim in results.claims:
        if claim["verdict"] == "harmful" and results.prompt_path:
            text = f"{claim['subject']}: {counts(claim['changed'])} with it, but it breaks decisions that were right"
            yield _result("harmful", text, _location(results.prompt_path, 1), str(claim["id"]))


def _result(rule: str, text: str, location: dict[str, Any], *identity: str) -> dict[str, Any]:
    fingerprint = hashlib.sha256("\0".join((rule, *identity)).encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "ruleId": rule,
        "level": RULES[rule][1],
        "message": {"text": clean(text)},
        "locations": [location],
        "partialFingerprints": {"whyspan/v1": fingerprint},
    }


def _location(file: str, line: int) -> dict[str, Any]:
    artifact: dict[str, Any] = {"uri": PurePath(file).as_posix()}
    if not PurePath(file).is_absolute():
        artifact["uriBaseId"] = "%SRCROOT%"
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(1, line)}}}
