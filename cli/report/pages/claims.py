"""Claims as the pages show them: figures with intervals, provenance, and the command that reproduces them."""

import json
import shlex
from typing import Any

from ....analysis.statistics.intervals import rate_interval
from ....ingest.store import Store
from ....ingest.store.querying import run_query
from ...selecting import one_decision

ALPHA = 0.05
COLUMNS = """c.claim_id, c.kind, c.verdict, c.detail, c.scope, coalesce(c.subject, '') AS subject, c.target, c.effect,
  c.base_rate, c.base_n, c.rate, c.n, c.interval_low, c.interval_high, c.e_value, c.alpha, c.calls,
  c.started AS measured, c.case_id, c.decision_trace_id, c.decision_span_id, c.guards, c.parent_claim_id,
  c.chain_end, coalesce(s.request_model, '') AS model,
  coalesce(json_extract_string(s.resource, '$.attributes."service.version"'), '') AS whyspan_version"""
CLAIMS = f"""SELECT {COLUMNS} FROM claims AS c JOIN spans AS s ON s.trace_id = c.trace_id AND s.span_id = c.span_id
WHERE {{where}}
QUALIFY row_number() OVER (PARTITION BY c.claim_id, c.decision_span_id ORDER BY c.started DESC) = 1
ORDER BY c.kind, abs(c.effect) DESC, c.claim_id"""
"""The latest figures of each claim about each decision."""

TITLES = {
    "cause": {
        "pushes": "Cause: it pushes the model to decide so",
        "required": "Required: without it the model lacks an input",
        "redundant": "Redundant cause: any one of several is enough",
        "joint": "Joint cause: needed together with others",
        "masked": "Masked cause: it works against another piece",
        "diffuse": "Diffuse cause: many pieces contribute a little",
        "text": "Cause in some of several decisions: one text",
        "place": "Cause in some of several decisions: what stands in one place",
    },
    "fix": {"holds": "Fix that holds", "reduces": "Fix that reduces it", "fails": "Candidate that does not stop it"},
    "none": {},
}


def read_claims(store: Store, where: str, *values: Any) -> list[dict[str, Any]]:
    """Returns claims about decisions, each with its latest figures; `where` is a condition on `claims AS c`."""
    return run_query(store, CLAIMS.replace("{where}", where), list(values)).records()


def show_claim(row: dict[str, Any], store: str) -> dict[str, Any]:
    """Returns the values of a claim's card."""
    select = one_decision(row["decision_trace_id"], row["decision_span_id"], row["target"])
    words = f"fix {select}" if row["kind"] == "fix" else f"why {select} --depth 0"
    return {
        **row,
        "title": TITLES.get(row["kind"], {}).get(row["detail"]) or f"{row['kind']}: {row['detail'] or row['verdict']}",
        "base": _bar(row["base_rate"], row["base_n"]),
        "changed": _bar(row["rate"], row["n"]),
        "change_words": {"cause": "without it", "fix": "with it"}.get(row["kind"], "changed"),
        "effect_words": _effect(row),
        "e_words": f"{row['e_value']:,.3g}" if row["e_value"] is not None else "",
        "needed": f"{1 / row['alpha']:,.3g}" if row["alpha"] else "",
        "command": f"whyspan --store {shlex.quote(store)} {words}",
        "guards": _guards(row["guards"]),
    }


def _guards(told: str | None) -> list[dict[str, Any]]:
    """Returns the guard cases of a fix, with how often each went right without and with it."""
    cases = json.loads(told)["cases"] if told else []
    return [
        {"reason": case["reason"], "target": case["target"], **{arm: _share(case[arm]) for arm in ("base", "changed")}}
        for case in cases
    ]


def _share(arm: dict[str, int]) -> str:
    if not arm["draws"]:
        return "not measured"
    interval = rate_interval(arm["right"], arm["draws"], alpha=ALPHA)
    return f"{arm['right']} of {arm['draws']} [{interval.low:.2f}, {interval.high:.2f}]"


def _bar(rate: float | None, n: int | None) -> dict[str, Any] | None:
    if rate is None or not n:
        return None
    hits = round(rate * n)
    interval = rate_interval(hits, n, alpha=ALPHA)
    return {"rate": rate, "hits": hits, "n": n, "low": interval.low, "high": interval.high}


def _effect(row: dict[str, Any]) -> str:
    if row["effect"] is None:
        return ""
    words = f"{row['effect']:+.2f}"
    if row["interval_low"] is None:
        return words
    return f"{words}, 95 % interval {row['interval_low']:+.2f} to {row['interval_high']:+.2f}"
