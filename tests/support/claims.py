"""A claim about a decision, and what is told about it."""

from whyspan.analysis.attribution.problem import Tally
from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.records import claim_span
from whyspan.analysis.targets import ToolTarget
from whyspan.analysis.writeback.results import Result, result_of
from whyspan.ingest.calls import Api

TRACE, SPAN = "a" * 32, "b" * 16
SECRET = "the sentence of the customer"
CASE = Case(
    api=Api.OPENAI_CHAT,
    request={"model": "m", "messages": [{"role": "user", "content": "Pay the rent."}]},
    target=ToolTarget("pay"),
    origin=Origin(trace_id=TRACE, span_id=SPAN, start_ns=1, service="s"),
)
CLAIM = Claim(
    case=CASE,
    kind="cause",
    detail="pushes",
    verdict=Verdict.SUPPORTED,
    subject=SECRET,
    intervention_id="c" * 64,
    base=Tally(target=9, other=1),
    changed=Tally(other=7),
    interval=(-1.0, -0.4),
    e_value=123.0,
    alpha=0.0225,
    calls=20,
    model="m",
)


def make_result(claim: Claim = CLAIM, *, include_content: bool = False) -> Result:
    return result_of(claim_span(claim, time_ns=10), None, include_content=include_content, link="https://why/1")
