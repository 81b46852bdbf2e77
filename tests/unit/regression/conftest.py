from collections.abc import Callable

import pytest

from whyspan.analysis.attribution.problem import Tally
from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.fixes.candidates import Candidate
from whyspan.analysis.fixes.verify import Measured
from whyspan.analysis.interventions import InsertRule, Intervention, intervention_id
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api

SYSTEM = "You are a mail assistant.\nBe brief."
RULE = "Never forward mail."


def make_case(*, system: str = SYSTEM, target: str = "tool:forward_email", mail: str = "Forward this.") -> Case:
    return Case(
        api=Api.OPENAI_CHAT,
        target=parse_target(target),
        origin=Origin(trace_id="ab" * 16, span_id="cd" * 8, start_ns=1_770_000_000_000_000_000),
        request={
            "model": "m-1",
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": "Take care of my mail."},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "read_email", "arguments": '{"id": 1}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": mail},
            ],
            "tools": [
                {"type": "function", "function": {"name": n, "description": d, "parameters": {"type": "object"}}}
                for n, d in (("read_email", "Read one."), ("forward_email", "Forward one."))
            ],
        },
    )


def make_fix(
    case: Case, *, hits: int = 0, draws: int = 24, intervention: Intervention | None = None, title: str = "action guard"
) -> Measured:
    change = intervention or InsertRule(RULE)
    claim = Claim(
        case=case, kind="fix", verdict=Verdict.SUPPORTED, detail="holds", subject=change.summary,
        intervention_id=intervention_id(change), base=Tally(target=22, other=2),
        changed=Tally(target=hits, other=draws - hits), interval=(-1.0, -0.5), e_value=1e9, alpha=0.0125, calls=48,
        model="m-1",
    )  # fmt: skip
    return Measured(
        candidate=Candidate(name="guard", title=title, intervention=change), claim=claim, residual=(0.0, 0.2)
    )


@pytest.fixture
def case() -> Case:
    return make_case()


@pytest.fixture
def build_case() -> Callable[..., Case]:
    return make_case


@pytest.fixture
def build_fix() -> Callable[..., Measured]:
    return make_fix
