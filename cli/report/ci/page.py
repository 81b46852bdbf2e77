"""The HTML report of a CI run."""

from typing import Any

from ..html import render_page
from .results import CiResults, Document, TestResult, status_counts
from .wording import STATUS_WORDS, claim_title, cost, counts, evidence, rate_of


def render_html(results: CiResults) -> str:
    """Returns a page of its own, to be opened from disk or shown by a CI server."""
    return render_page(
        "ci.html.j2",
        {
            "title": results.title,
            "created_at": results.created_at,
            "statuses": status_counts(results.tests),
            "replays": results.draws,
            "cost": cost(results.cost_usd),
            "tests": [_test(t) for t in sorted(results.tests, key=_needs_a_look, reverse=True)],
            "claims": [_claim(c) for c in results.claims],
        },
    )


def _needs_a_look(test: TestResult) -> bool:
    return test.status not in ("passed", "skipped")


def _test(test: TestResult) -> dict[str, Any]:
    return {
        "name": test.name,
        "where": f"{test.file}:{test.line}",
        "status": test.status,
        "words": STATUS_WORDS.get(test.status, test.status),
        "duration": f"{test.duration_s:.1f} s",
        "message": "" if test.checks else test.message,
        "checks": [_check(c) for c in test.checks],
    }


def _check(check: Document) -> dict[str, Any]:
    trace = str(check["trace_id"])
    return {
        **check,
        "against": rate_of(check),
        "bar": _bar(check["rate"], check["interval"], check["max_rate"]),
        "evidence": f"{evidence(check['e_compliance'])} for, {evidence(check['e_excess'])} against"
        if check["mode"] == "live"
        else "",
        "lines": [{"kind": _line_kind(line), "text": line} for line in str(check["message"]).splitlines()],
        "command": f"whyspan why {trace[:12]} span:{str(check['span_id'])[:8]}" if trace else "",
    }


def _line_kind(line: str) -> str:
    """Tells the lines of a unified diff apart."""
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")


def _claim(claim: Document) -> dict[str, Any]:
    low, high = claim["interval"]
    return {
        **claim,
        "title": claim_title(claim),
        "base_words": counts(claim["base"]),
        "changed_words": counts(claim["changed"]),
        "effect_words": f"{claim['effect']:+.2f} ({low:+.2f} to {high:+.2f})",
        "evidence": f"{evidence(claim['e_value'])}, needed {evidence(1 / claim['alpha'])}",
    }


def _bar(rate: float | None, interval: list[float] | None, allowed: float) -> dict[str, float] | None:
    """Returns the geometry of a rate bar, as shares of its width."""
    if rate is None or interval is None:
        return None
    return {"rate": rate, "low": interval[0], "high": interval[1], "allowed": allowed}
