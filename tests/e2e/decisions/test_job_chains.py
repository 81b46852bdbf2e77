"""A job whose step is `why` follows causes as the command does, under its own budgets and through every death."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from chain_worlds import World

from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.providers.function import FunctionModel
from whyspan.cli.main import main
from whyspan.ingest.calls import Body
from whyspan.ingest.errors import UpstreamError
from whyspan.ingest.spans import AnyValue, Span, SpanId, TraceId
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

SUPPORT = Path(__file__).parents[2] / "support"
SEED = 3
JOB = """[jobs.nightly]
select = "{select}"
do = {do}
model_fn = "model.py:model"
{more}
"""
LASTING = """from chain_worlds import World, lasting_model
model = lasting_model(World({name!r}, {seed}), {copy!r})
"""
COUNTING = """import time
from chain_worlds import World
from whyspan.cli.demo.standin import Standin
world = World({name!r}, {seed}, rate=1.0)
def model(request):
    with open("calls.log", "a") as log:
        log.write("1\\n")
    time.sleep(0.01)
    return Standin(0, world.policies()).complete(request)
"""
"""Decides the same way every time, so that two jobs can be compared, and counts what it is asked."""


@cache
def _recorded(world: World) -> tuple[str, list[Span]]:
    return world.record()


class Works:
    """A folder with a store of one recorded run, a job, and the model that answers it."""

    def __init__(self, world: World, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.world, self.folder = world, folder
        self._capsys = capsys
        self.trace_id, spans = _recorded(world)
        with Store.create(folder / ".whyspan") as store:
            store.write(spans)
        self.answer_by(LASTING)
        self.define()

    def answer_by(self, text: str) -> None:
        """Writes the model's file."""
        written = text.format(name=self.world.name, seed=self.world.seed, copy=str(self.folder))
        (self.folder / "model.py").write_text(written)

    def define(self, *more: str, select: str = "", do: str = '["why"]') -> None:
        """Writes down the job; it selects the decision of the world unless told otherwise."""
        select = select or f"list_contains(tool_names, '{self.world.event.removeprefix('tool:')}')"
        (self.folder / "whyspan.toml").write_text(JOB.format(select=select, do=do, more="\n".join(more)))

    def invoke(self, *words: str) -> tuple[int, Any]:
        """Runs a command that prints JSON."""
        self._capsys.readouterr()
        code = main([*words, "--json"])
        printed = self._capsys.readouterr()
        assert printed.out, printed.err
        return code, json.loads(printed.out)

    def run(self) -> tuple[int, dict[str, Any]]:
        """Runs the job; returns the exit code and the summary."""
        return self.invoke("jobs", "run", "nightly")

    def items(self) -> list[dict[str, Any]]:
        """Returns what became of the decisions of the latest run."""
        found: list[dict[str, Any]] = self.invoke("jobs", "status", "nightly")[1]["items"]
        return found

    def why(self, *options: str) -> dict[str, Any]:
        """Asks the command; returns its document."""
        words = ("why", self.trace_id, self.world.event, "--model-fn", "model.py:model", *options)
        document: dict[str, Any] = self.invoke(*words)[1]
        return document

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Asks the store."""
        with Store.open(self.folder / ".whyspan") as store:
            return run_query(store, sql).records()

    @property
    def asked(self) -> int:
        """How often the counting model was asked."""
        log = self.folder / "calls.log"
        return len(log.read_bytes()) // 2 if log.exists() else 0

    @property
    def kept(self) -> int:
        """How many replies are kept."""
        db = sqlite3.connect(self.folder / ".whyspan" / "replies.sqlite")
        count: int = db.execute("SELECT count(*) FROM replies").fetchone()[0]
        db.close()
        return count


@pytest.fixture
def make_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Works]:
    def make(name: str, *, copy: str = "one") -> Works:
        folder = tmp_path / copy
        folder.mkdir()
        monkeypatch.chdir(folder)
        return Works(World(name, SEED), folder, capsys)

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return make


CLAIMS = """SELECT claim_id, parent_claim_id, chain_end, decision_span_id, base_n, n, e_value, alpha FROM claims
ORDER BY alpha DESC, claim_id"""


@pytest.mark.parametrize("name", ["plan", "services"])
def test_a_job_has_the_chain_and_the_claims_of_the_command(name: str, make_works: Callable[..., Works]) -> None:
    by_hand = make_works(name, copy="hand")
    chain, claims = by_hand.why()["chain"], by_hand.query(CLAIMS)
    assert (len(chain["links"]), chain["end"]) == (by_hand.world.links, "tool")
    works = make_works(name, copy="job")
    code, done = works.run()
    (item,) = works.items()
    assert (code, done["status"], done["causes"], done["calls"]) == (0, "done", 1, chain["paid"])
    assert item["chain"] == chain
    assert item["headline"] == chain["links"][0]["claim"]["id"]
    assert works.query(CLAIMS) == claims
    assert [c["parent_claim_id"] for c in claims] == [None, *(c["claim_id"] for c in claims[:-1])]


def test_how_far_a_cause_is_followed_is_a_setting(make_works: Callable[..., Works]) -> None:
    works = make_works("services")
    works.define("depth = 1")
    works.run()
    (item,) = works.items()
    assert (len(item["chain"]["links"]), item["chain"]["end"]) == (2, "depth")
    alone = make_works("services", copy="alone")
    alone.define("depth = 0")
    alone.run()
    (item,) = alone.items()
    assert (item["chain"], bool(item["headline"])) == (None, True)
    assert [c["parent_claim_id"] for c in alone.query(CLAIMS)] == [None]


def test_the_pages_of_a_job_show_its_chains(
    make_works: Callable[..., Works], capsys: pytest.CaptureFixture[str]
) -> None:
    works = make_works("services")
    works.run()
    (item,) = works.items()
    assert main(["report", "nightly", "--html", "page.html"]) == 0
    page = Path("page.html").read_text("utf-8")
    chain = page[page.index("Chain of causes") : page.index("Its decisions")]
    assert re.findall(r"<blockquote>(.*?)</blockquote>", chain) == [link["piece"] for link in item["chain"]["links"]]
    capsys.readouterr()
    main(["jobs", "status", "nightly"])
    assert "chain of 3, end: tool" in capsys.readouterr().out


def test_the_budget_of_a_run_bounds_chains_and_the_next_run_goes_on(make_works: Callable[..., Works]) -> None:
    chain = make_works("plan", copy="whole").why()["chain"]
    works = make_works("plan", copy="cut")
    budget = chain["links"][0]["paid"] + 5
    works.define(f"budget = {budget}")
    code, cut = works.run()
    assert (code, cut["status"], cut["calls"], cut["left"]) == (5, "budget", budget, 1)
    assert [c["chain_end"] for c in works.query(CLAIMS)] == ["budget"]
    works.define()
    code, rest = works.run()
    (item,) = works.items()
    assert (code, rest["status"], rest["calls"]) == (0, "done", chain["paid"] - budget)
    assert [link["claim"] for link in item["chain"]["links"]] == [link["claim"] for link in chain["links"]]


def test_the_cap_of_an_experiment_holds_for_the_decision_and_for_each_link(make_works: Callable[..., Works]) -> None:
    chain = make_works("services", copy="whole").why()["chain"]
    # Enough to find the cause of the decision, and not enough to hold it to its share of a chain's error rate.
    most = chain["links"][0]["replays"] - 1
    works = make_works("services", copy="capped")
    works.define(f"per_decision = {most}")
    code, done = works.run()
    (item,) = works.items()
    assert (code, done["status"], item["chain"]["end"]) == (0, "done", "budget")
    assert done["calls"] <= most
    assert "budget" in [c["chain_end"] for c in works.query(CLAIMS)]
    wide = make_works("services", copy="wide")
    wide.define(f"per_decision = {max(link['replays'] for link in chain['links'])}")
    assert wide.run()[0] == 0
    (item,) = wide.items()
    assert (len(item["chain"]["links"]), item["chain"]["end"]) == (3, "tool")


def test_killed_three_times_the_chain_is_the_same_and_nothing_is_paid_for_twice(
    make_works: Callable[..., Works],
) -> None:
    whole = make_works("services", copy="whole")
    whole.answer_by(COUNTING)
    assert whole.run()[0] == 0
    claims = whole.query(CLAIMS)
    assert len(claims) == whole.world.links
    works = make_works("services", copy="killed")
    works.answer_by(COUNTING)
    ends = []
    for share in (0.2, 0.5, 0.8):
        process = _start(works.folder)
        while process.poll() is None and works.asked < share * whole.asked:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        ends.append(process.wait())
    assert ends[0] == -signal.SIGKILL
    assert _start(works.folder).wait(60) == 0
    assert works.query(CLAIMS) == claims
    in_flight = 3 * 8
    assert works.asked <= whole.asked + in_flight


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "whyspan", "jobs", "run", "nightly"]
    paths = os.pathsep.join(filter(None, (str(SUPPORT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "XDG_CONFIG_HOME": "x", "PYTHONPATH": paths}
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, env=environment)


def test_chains_that_meet_in_one_call_pay_for_its_replays_once(make_works: Callable[..., Works]) -> None:
    works = make_works("services")
    works.answer_by(COUNTING)
    with Store.open(works.folder / ".whyspan") as store:
        store.write([_of_another_mailer(s) for s in store.spans(TraceId(works.trace_id)) if _sends(s)])
    works.define(select="list_has_any(tool_names, ['send_mail', 'instruct_mailer'])")
    _, done = works.run()
    ways = [[link["service"] for link in item["chain"]["links"]] for item in works.items()]
    assert sorted(ways) == [
        ["execution", "planning"], ["mail", "execution", "planning"], ["post", "execution", "planning"]
    ]  # fmt: skip
    assert works.asked == works.kept == done["calls"]


def _sends(span: Span) -> bool:
    return span.name == "chat mailer" and "tool_calls" in str(span.attributes["gen_ai.response.finish_reasons"])


def _of_another_mailer(span: Span) -> Span:
    # Another temperature makes all its requests others: only the earlier calls are shared.
    other: dict[str, AnyValue] = {"gen_ai.response.id": "another", "gen_ai.request.temperature": 0.5}
    resource = replace(span.resource, attributes={**span.resource.attributes, "service.name": "post"})
    attributes = {**span.attributes, **other}
    return replace(span, span_id=SpanId(span.span_id[::-1]), attributes=attributes, resource=resource)


def test_another_model_is_asked_about_the_earlier_calls_too(make_works: Callable[..., Works]) -> None:
    works = make_works("plan")
    works.answer_by(LASTING + "ask = model\ndef model(request):\n    return ask({{**request, 'model': 'clerk'}})\n")
    works.define('model = "another"')
    works.run()
    (item,) = works.items()
    assert len(item["chain"]["links"]) == 2
    assert works.query("SELECT DISTINCT model FROM trials") == [{"model": "another"}]


def test_a_fix_takes_its_cause_from_the_chain_and_leaves_the_claims_of_that(make_works: Callable[..., Works]) -> None:
    works = make_works("plan")
    works.define(do='["why", "fix"]')
    works.run()
    (item,) = works.items()
    links = [link["claim"]["id"] for link in item["chain"]["links"]]
    kept = works.query("SELECT claim_id, chain_end FROM claims WHERE kind = 'cause' ORDER BY alpha DESC")
    assert kept == [{"claim_id": links[0], "chain_end": None}, {"claim_id": links[1], "chain_end": "tool"}]
    assert works.query("SELECT count(*) > 0 AS some FROM claims WHERE kind = 'fix'") == [{"some": True}]


@pytest.mark.parametrize("passes", [True, False])
def test_a_model_that_fails_for_a_while_is_asked_again_by_the_next_run(
    passes: bool, make_works: Callable[..., Works], monkeypatch: pytest.MonkeyPatch
) -> None:
    works = make_works("services")
    answer = FunctionModel.complete

    async def complete(self: FunctionModel, request: Body, count: int) -> Sequence[Completion]:
        if request["model"] == "planner":
            # An endpoint that asks for a longer pause than a run waits ends the matter at once.
            raise UpstreamError("overloaded", transient=passes, retry_after_s=3600)
        return await answer(self, request, count)

    with monkeypatch.context() as patched:
        patched.setattr(FunctionModel, "complete", complete)
        code, failed = works.run()
    (item,) = works.items()
    assert len(works.query("SELECT 1 FROM claims WHERE kind = 'cause'")) == 2
    if not passes:
        assert (code, item["status"], item["chain"]["end"], item["chain"]["note"]) == (
            0,
            "done",
            "failed",
            "overloaded",
        )
        return
    assert (code, item["status"], failed["failed"]) == (1, "failed", 1)
    code, done = works.run()
    (item,) = works.items()
    assert (code, item["status"], item["chain"]["end"]) == (0, "done", "tool")
    assert failed["calls"] + done["calls"] == item["chain"]["replays"] == works.kept


def test_the_claims_of_all_links_are_written_back(make_works: Callable[..., Works]) -> None:
    works = make_works("services")
    with otlp_server() as (url, received):
        works.define(f'endpoint = "{url}"', do='["why", "writeback"]')
        assert works.run()[0] == 0
    claims = works.query(CLAIMS)
    assert [item["sent"] for item in works.items()] == [len(claims)]
    sent = {c["claim_id"] for c in claims}
    assert {claim for claim in sent if any(claim.encode() in body for body in received)} == sent


@contextmanager
def otlp_server() -> Iterator[tuple[str, list[bytes]]]:
    """Takes whatever is posted."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    thread.join()
    server.server_close()
