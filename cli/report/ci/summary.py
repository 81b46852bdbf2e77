"""`summary.md` for the page of a CI run, and the body of a pull-request comment.

Trace content is untrusted: it stands in code spans alone, where Markdown, HTML and @mentions mean nothing.
"""

import re
from collections.abc import Iterator

from .results import CiResults, Document, TestResult, status_counts
from .wording import STATUS_WORDS, SYMBOLS, claim_title, cost, counts, evidence, rate_of

MARKER = "<!-- whyspan -->"
"""By it a pipeline finds the comment that it wrote before, to change it instead of adding another."""
COMMENT_LIMIT = 60_000
"""Characters; GitHub refuses comments of more than 65,536."""
LONGEST_QUOTE = 300


def render_summary(results: CiResults) -> str:
    """Returns the Markdown of the whole run."""
    parts = (_head, _tests, _failures, _claims, _foot)
    return "\n".join(line for part in parts for line in part(results)) + "\n"


def render_comment(results: CiResults, *, link: str = "") -> str:
    """Returns the body of a pull-request comment: the table, as many failures as fit, and where to find the rest."""
    lines = [MARKER, *_head(results), *_tests(results)]
    foot = [*([f"[full report]({link})", ""] if link else []), *_foot(results)]
    left = COMMENT_LIMIT - sum(len(line) + 1 for line in (*lines, *foot))
    for count, test in enumerate(results.failures):
        block = list(_failure(test))
        left -= sum(len(line) + 1 for line in block)
        if left < 0:
            lines += [f"{len(results.failures) - count} more failures are in the full report.", ""]
            break
        lines += block
    return "\n".join([*lines, *foot]) + "\n"


def _head(results: CiResults) -> Iterator[str]:
    found = ", ".join(f"{n} {status}" for status, n in status_counts(results.tests).items())
    yield f"## {code(results.title)}"
    yield ""
    if results.tests:
        yield f"{'❌' if results.failures else '✅'} {found}"
        yield ""


def _tests(results: CiResults) -> Iterator[str]:
    rows = [(t, c) for t in results.tests for c in t.checks]
    if not rows:
        return
    yield "| | test | assertion | went against it | allowed | mode |"
    yield "|---|---|---|---|---|---|"
    for test, check in rows:
        yield (
            f"| {SYMBOLS.get(str(check['status']), '')} | {code(test.name)} | {code(check['assertion'])} "
            f"| {rate_of(check)} | {check['max_rate']:g} | {check['mode']} |"
        )
    yield ""


def _failures(results: CiResults) -> Iterator[str]:
    for test in results.failures:
        yield from _failure(test)


def _failure(test: TestResult) -> Iterator[str]:
    yield f"<details><summary>{SYMBOLS.get(test.status, '')} {_text(test.name)}: {_status(test)}</summary>"
    yield ""
    yield from fenced(next((str(c["message"]) for c in test.checks if c["message"]), test.message))
    yield ""
    yield "</details>"
    yield ""


def _status(test: TestResult) -> str:
    return STATUS_WORDS.get(test.status, test.status)


def _claims(results: CiResults) -> Iterator[str]:
    if not results.claims:
        return
    yield "### Claims"
    yield ""
    yield "| claim | about | as recorded | with the change | effect (95 %) | e-value |"
    yield "|---|---|---|---|---|---|"
    for claim in results.claims:
        yield _claim_row(claim)
    yield ""


def _claim_row(claim: Document) -> str:
    low, high = claim["interval"]
    return (
        f"| {claim_title(claim)} | {code(claim['subject'] or claim['target'])} | {counts(claim['base'])} "
        f"| {counts(claim['changed'])} | {claim['effect']:+.2f} ({low:+.2f} to {high:+.2f}) "
        f"| {evidence(claim['e_value'])}, needed {evidence(1 / claim['alpha'])} |"
    )


def _foot(results: CiResults) -> Iterator[str]:
    parts = [f"{results.draws} replays", cost(results.cost_usd), results.created_at]
    yield f"<sub>{', '.join(p for p in parts if p)}</sub>"


def code(text: object) -> str:
    """Returns a text as a code span on one line, for tables too; whatever it holds stays text."""
    flat = " ".join(str(text).split())
    flat = flat if len(flat) <= LONGEST_QUOTE else flat[: LONGEST_QUOTE - 1] + "…"
    fence = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{fence}{space}{flat}{space}{fence}".replace("|", "\\|")


def fenced(text: str) -> Iterator[str]:
    """Yields a text as a code block that its content cannot end."""
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    yield f"{fence}text"
    yield from text.splitlines()
    yield fence


def _text(text: str) -> str:
    """Returns a text for the inside of an HTML element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
