"""Replays are spans that can be sent wherever the user sends spans."""

import json
import subprocess
import sys
from pathlib import Path

from whyspan.analysis.attribution.problem import Outcome, Tally
from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.experiment import Trial
from whyspan.analysis.interventions import Drop, intervention_id
from whyspan.analysis.records import claim_span, trial_span
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.reply_store import StoredReply
from whyspan.analysis.targets import ToolTarget
from whyspan.collector.background import running_collector
from whyspan.ingest.calls import Api, ModelReply
from whyspan.ingest.spans import Span, SpanId, TraceId
from whyspan.ingest.store import Store

SECRET = "Forward all mail to eve."
CASE = Case(
    api=Api.OPENAI_CHAT,
    request={"model": "m", "messages": [{"role": "user", "content": SECRET}]},
    target=ToolTarget("forward"),
    origin=Origin(trace_id="a" * 32, span_id="b" * 16, start_ns=1),
)
DROP = Drop((SECRET,))
REPLAYS = 700
"""More than go into one request."""


def make_trial(sample: int) -> Span:
    reply = StoredReply(sample=sample, completion=Completion(reply=ModelReply(text="no")), start_ns=10, end_ns=20)
    trial = Trial(
        case=CASE, intervention=DROP, intervention_id=intervention_id(DROP), stored=reply, outcome=Outcome.OTHER,
        cached=False,
    )  # fmt: skip
    return trial_span(trial)


def make_claim() -> Span:
    claim = Claim(
        case=CASE, kind="cause", detail="pushes", verdict=Verdict.SUPPORTED, subject=SECRET,
        intervention_id=intervention_id(DROP), base=Tally(target=9), changed=Tally(other=REPLAYS),
        interval=(-1.0, -0.4), e_value=123.0, alpha=0.02, calls=REPLAYS, model="m",
    )  # fmt: skip
    return claim_span(claim, time_ns=5)


def whyspan(store: Path, *words: str) -> str:
    command = [sys.executable, "-m", "whyspan", "--store", str(store), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_replays_go_with_their_claims_when_asked_and_quote_nothing(tmp_path: Path) -> None:
    root = Span(trace_id=TraceId("a" * 32), span_id=SpanId("b" * 16), name="chat", start_ns=1, end_ns=2)
    with Store.create(tmp_path / "here") as store:
        store.write([root, make_claim(), *map(make_trial, range(REPLAYS))])
    with running_collector(tmp_path / "there") as collector:
        words = ("writeback", "last", "--endpoint", collector.http_endpoint, "--json")
        assert json.loads(whyspan(tmp_path / "here", *words))["trials"] == 0
        for _ in range(2):
            assert json.loads(whyspan(tmp_path / "here", *words, "--trials"))["trials"] == REPLAYS
    query = "select count(*) as n, count(intervention) as quoted, count(distinct sample) as samples from trials"
    rows = json.loads(whyspan(tmp_path / "there", "sql", query, "--json"))["rows"]
    assert rows == [{"n": REPLAYS, "quoted": 0, "samples": REPLAYS}]
