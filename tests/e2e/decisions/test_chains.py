"""`whyspan why` follows a cause back to what started it, through recorded traces of several agents and services."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chain_worlds import World

from whyspan.analysis.attribution.chain import find_chain
from whyspan.analysis.attribution.problem import Options
from whyspan.analysis.desk import open_desk
from whyspan.cli.main import main
from whyspan.ingest.spans import Span, TraceId
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

Whyspan = Callable[..., tuple[int, str, str]]
SEED = 3
MODEL = """\
from chain_worlds import World, lasting_model

model = lasting_model(World({name!r}, {seed}, {regardless}), {copy!r})
"""


class Bench:
    """A store with one recorded run, and the model that answers its replays, in the current folder."""

    def __init__(self, world: World, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.world = world
        self.trace_id, self.spans = world.record()
        self._folder = folder
        self._capsys = capsys

    def write(self, spans: Sequence[Span]) -> "Bench":
        """Makes the store from these spans."""
        with Store.create(self._folder / "store") as store:
            store.write(spans)
        text = MODEL.format(
            name=self.world.name, seed=self.world.seed, regardless=self.world.regardless, copy=str(self._folder)
        )
        (self._folder / "model.py").write_text(text)
        return self

    def why(self, *options: str) -> str:
        """Asks about the decision; returns what was printed."""
        arguments = ("why", self.trace_id, self.world.event, "--model-fn", str(self._folder / "model.py") + ":model")
        return self.run(*arguments, *options)

    def run(self, *words: str) -> str:
        """Runs a command on the store."""
        self._capsys.readouterr()
        assert main(["--store", str(self._folder / "store"), *words]) == 0, self._capsys.readouterr().err
        return self._capsys.readouterr().out

    def chain(self, *options: str) -> dict[str, Any]:
        """Asks about the decision; returns the chain of the JSON document."""
        chain: dict[str, Any] = json.loads(self.why("--json", *options))["chain"]
        return chain

    def claims(self) -> list[dict[str, Any]]:
        """Returns the causes in the store."""
        with Store.open(self._folder / "store") as store:
            return run_query(store, "SELECT * FROM claims WHERE kind = 'cause' ORDER BY alpha DESC").records()


@pytest.fixture
def make_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Bench]:
    def make(name: str, *, regardless: bool = False, copy: str = "one", seed: int = SEED) -> Bench:
        folder = tmp_path / copy
        folder.mkdir()
        return Bench(World(name, seed, regardless), folder, capsys)

    return make


@pytest.mark.parametrize("name", ["plan", "agents", "services"])
def test_the_chain_ends_at_the_planted_sentence(name: str, make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(name)
    chain = bench.write(bench.spans).chain()
    links = chain["links"]
    assert (len(links), chain["end"]) == (bench.world.links, "tool")
    assert chain["origin"] == len(links) - 1
    assert links[-1]["piece"] == bench.world.planted
    assert all(bench.world.value in link["piece"] and bench.world.value in link["judged"] for link in links[1:])
    assert sum(link["claim"]["alpha"] for link in links) <= chain["alpha"]
    assert all(link["claim"]["e_value"] >= 1 / link["claim"]["alpha"] for link in links)
    out = " ".join(bench.why().split())
    assert f'{bench.world.planted}" outside text, in the result of' in out
    assert "start outside text" in out


def test_where_the_decision_took_no_value_the_words_themselves_count(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("words")
    chain = bench.write(bench.spans).chain()
    assert [link["judged"] for link in chain["links"]] == ["", "its text says so word for word"]
    assert (chain["links"][-1]["piece"], chain["end"]) == (bench.world.planted, "tool")


def test_the_links_cross_services_and_are_linked_claims_in_the_store(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("services")
    chain = bench.write(bench.spans).chain()
    assert [link["service"] for link in chain["links"]] == ["mail", "execution", "planning"]
    assert [link["came_by"] for link in chain["links"]] == ["arguments", "text", "result"]
    claims = bench.claims()
    assert [c["claim_id"] for c in claims] == [link["claim"]["id"] for link in chain["links"]]
    assert [c["parent_claim_id"] for c in claims] == [None, *(c["claim_id"] for c in claims[:-1])]
    assert [c["chain_end"] for c in claims] == [None, None, "tool"]
    assert [c["decision_span_id"] for c in claims] == [link["span_id"] for link in chain["links"]]


def test_the_page_of_a_run_and_that_of_a_claim_show_the_chain(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    bench = make_bench("services")
    links = bench.write(bench.spans).chain()["links"]
    for reference in (bench.trace_id, links[0]["claim"]["id"]):
        bench.run("report", reference, "--html", str(tmp_path / "page.html"))
        page = (tmp_path / "page.html").read_text("utf-8")
        chain = page[page.index("Chain of causes") :]
        quotes = re.findall(r"<blockquote>(.*?)</blockquote>", chain)
        assert quotes[:3] == [link["piece"] for link in links]
        assert "nothing that the run had read led to the call" in chain
        assert f'<a href="#decision-{links[0]["number"]}">' in chain
    bench.run("report", links[1]["claim"]["id"], "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"the cause of claim <code>{links[0]['claim']['id']}</code>" in page


@pytest.mark.parametrize("name", ["plan", "agents", "services"])
def test_a_text_that_comes_regardless_of_the_document_is_the_models_own(
    name: str, make_bench: Callable[..., Bench]
) -> None:
    bench = make_bench(name, regardless=True)
    chain = bench.write(bench.spans).chain()
    assert (chain["end"], chain["origin"]) == ("own", None)
    assert all(bench.world.planted != c["subject"] for c in bench.claims())
    assert re.search(r'or: whyspan .* why --select .*judge:\\"Does it say', bench.why())


def test_a_deeper_chain_costs_only_its_further_links(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("services")
    short = bench.write(bench.spans).chain("--depth", "1")
    assert (len(short["links"]), short["end"]) == (2, "depth")
    out = bench.why("--depth", "1")
    command = re.search(r"or: whyspan --store \S+ (why .*--depth 2 .*)", out)
    assert command
    bench.run(*command[1].split())
    deep = bench.chain()
    assert deep["links"][:2] == [_free(link, deep["links"][n]["claim"]) for n, link in enumerate(short["links"])]
    assert deep["end"] == "tool"


def _free(link: dict[str, Any], claim: dict[str, Any]) -> dict[str, Any]:
    """Returns a link as it is when nothing of it is paid for any more and the chain goes on behind it."""
    return {**link, "paid": 0, "claim": {**link["claim"], "chain_end": claim["chain_end"]}}


def test_a_chain_that_the_budget_cuts_short_goes_on_without_penalty(make_bench: Callable[..., Bench]) -> None:
    whole = make_bench("plan", copy="whole")
    chain = whole.write(whole.spans).chain()
    bench = make_bench("plan", copy="cut")
    bench.trace_id, bench.spans = whole.trace_id, whole.spans
    cut = bench.write(bench.spans).chain("--budget", str(chain["links"][0]["paid"] + 5))
    assert (cut["end"], len(cut["links"])) == ("budget", 1)
    assert "the budget ended here" in bench.why("--budget", "1")
    assert bench.claims()[0]["chain_end"] == "budget"
    rest = bench.chain()
    assert [link["claim"] for link in rest["links"]] == [link["claim"] for link in chain["links"]]
    assert cut["paid"] + 1 + rest["paid"] == chain["paid"]


def test_an_earlier_trace_of_the_session_is_searched_too(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("plan")
    later = [s.span_id for s in bench.spans if s.name == "chat clerk"][2:]
    attributes = {"gen_ai.conversation.id": "talk-1"}
    bench.write([
        replace(s, attributes={**s.attributes, **attributes}, trace_id=TraceId("e" * 32), parent_span_id=None)
        if s.span_id in later else replace(s, attributes={**s.attributes, **attributes})
        for s in bench.spans
    ])  # fmt: skip
    first, bench.trace_id = bench.trace_id, "e" * 32
    chain = bench.chain()
    assert [link["trace_id"] for link in chain["links"]] == ["e" * 32, first]
    assert (chain["end"], chain["links"][-1]["piece"]) == ("tool", bench.world.planted)


def test_asking_again_for_free_leaves_the_claims_of_the_chain_as_they_are(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("plan")
    bench.write(bench.spans).chain()
    before = bench.claims()
    bench.why("--depth", "0")
    assert bench.claims() == before


def test_the_shelf_has_the_texts_that_started_decisions(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("services")
    bench.write(bench.spans).chain()
    (row,) = json.loads(bench.run("query", "origins", "--json"))["rows"]
    assert row == {"origin": bench.world.planted, "outcome": "tool:send_mail", "decisions": 1, "longest": 3}


def test_depth_zero_asks_about_the_decision_alone(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("plan")
    document = json.loads(bench.write(bench.spans).why("--depth", "0", "--json"))
    assert document["chain"] is None
    assert [c["parent_claim_id"] for c in bench.claims()] == [None]


def test_a_decision_that_its_run_does_not_hold_is_explained_alone(
    make_bench: Callable[..., Bench], tmp_path: Path
) -> None:
    bench = make_bench("plan")
    bench.write(bench.spans)
    folder = tmp_path / "one"
    with open_desk(store=str(folder / "store"), model_fn=f"{folder / 'model.py'}:model") as desk:
        case = desk.case(bench.trace_id, bench.world.event)
        unknown = replace(case, origin=replace(case.origin, span_id="f" * 16))
        report = asyncio.run(find_chain(desk, unknown, Options()))
    assert report.headline
    assert report.chain is None


def test_a_call_that_is_not_in_the_trace_ends_the_chain_and_says_so(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("plan")
    called = [s for s in bench.spans if s.name == "chat clerk"]
    writer = called[1].span_id
    chain = bench.write([s for s in bench.spans if s.span_id != writer]).chain()
    assert (chain["end"], len(chain["links"]), chain["origin"]) == ("untraced", 1, None)
    assert f"calls {bench.trace_id[:12]}" in bench.why()


def test_a_request_that_was_not_recorded_ends_the_chain_and_says_how_to_record_it(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench("plan")
    writer = [s for s in bench.spans if s.name == "chat clerk"][1]
    del writer.attributes["gen_ai.input.messages"]  # type: ignore[attr-defined]  # a dict, as it was decoded
    chain = bench.write(bench.spans).chain()
    assert (chain["end"], len(chain["links"])) == ("not_replayable", 1)
    assert "cannot be replayed" in chain["note"]
    assert "the call that it came from was not recorded as it was sent" in " ".join(bench.why().split())


def test_a_model_that_cannot_be_asked_leaves_what_was_found(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise ConnectionError("no route")

    bench = make_bench("services")
    monkeypatch.setattr(World, "_planner", fails)
    chain = bench.write(bench.spans).chain()
    assert (chain["end"], len(chain["links"])) == ("failed", 2)
    assert "no route" in chain["note"]
    assert len(bench.claims()) == 2
