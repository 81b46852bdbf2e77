"""Our requests, and the answers of the server in these tests, against Langfuse's own OpenAPI files.

The files and a real server's answers are not part of this repository; the tests run where they lie beside it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from backend_server import Answer, Backend, Call
from claims import make_result
from langfuse_server import LangfuseServer
from openapi import OpenApi
from source_cases import observation, score, trace_id

from whyspan.analysis.writeback.langfuse import LangfuseTarget
from whyspan.ingest.rebuild import load_calls
from whyspan.ingest.remote import Remote
from whyspan.ingest.sources.langfuse import open_source
from whyspan.ingest.sources.langfuse.account import langfuse_account
from whyspan.ingest.sources.pulling import pull
from whyspan.ingest.sources.source import Selection
from whyspan.ingest.store import Store

DATA = Path(__file__).parents[4] / "shared" / "data" / "langfuse"
FILES = {
    "4.16.0": DATA / "openapi-v4.16-HEAD.yml",
    "3.225.4": DATA / "openapi-v3.225.4.yml",
    "2.95.12": DATA / "openapi-v2.95.12.yml",
}
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="Langfuse's OpenAPI files are not here")

each_version = pytest.mark.parametrize("version", list(FILES))


def filled(version: str) -> LangfuseServer:
    server = LangfuseServer(version, observations=[observation(r, i, sessionId="s") for r in range(4) for i in (0, 1)])
    server.scores = {f"{run}": score(run, id=f"{run}") for run in range(3)}
    server.page_limit = 2
    return server


def environ_of(server: LangfuseServer) -> dict[str, str]:
    keys = {"LANGFUSE_PUBLIC_KEY": server.user, "LANGFUSE_SECRET_KEY": server.password}
    return {"LANGFUSE_BASE_URL": server.url, **keys}


def problems(server: Backend, version: str) -> list[str]:
    api = OpenApi.load(FILES[version])
    return [problem for call, answer in server.exchanges for problem in api.problems(call, answer)]


@each_version
def test_an_import_asks_and_is_answered_as_the_file_says(version: str, tmp_path: Path) -> None:
    with filled(version).running() as server, Store.create(tmp_path) as store:
        selections = (Selection(), Selection(tags=("a",), name="agent"), Selection(trace_ids=(trace_id(1),)))
        for selection in selections:
            with open_source(selection, environ=environ_of(server)) as source:
                assert pull(store, source).spans
        assert len(server.exchanges) > 10
        assert problems(server, version) == []


def test_nothing_that_version_4_withdraws_is_asked_of_it(tmp_path: Path) -> None:
    with filled("4.16.0").running() as server, Store.create(tmp_path) as store:
        with open_source(Selection(), environ=environ_of(server)) as source:
            pull(store, source)
        asked = {call.path for call in server.calls}
    assert asked == {f"/api/public/{path}" for path in ("health", "projects", "v2/observations", "v3/scores")}


@each_version
def test_a_score_is_what_the_file_wants(version: str, tmp_path: Path) -> None:
    with filled(version).running() as server, Remote(langfuse_account(environ=environ_of(server))) as remote:
        target = LangfuseTarget(remote)
        for delivery in target.deliveries([make_result()]):
            target.send(delivery)
            assert target.is_there(delivery)
        assert problems(server, version) == []


class RecordedServer(LangfuseServer):
    """Gives the answers that a real server of version 2.95.12 gave."""

    def __init__(self) -> None:
        super().__init__("2.95.12")
        lines = (DATA / "real-v2.95.12-server-responses.txt").read_text("utf-8").splitlines()
        self.recorded: list[Any] = [json.loads(line) for line in lines if line.startswith("{")]

    def answer(self, call: Call) -> Answer:
        listed = [r for r in self.recorded if "data" in r]
        match call.path.removeprefix("/api/public/"):
            case "traces":
                return Answer(body=next(r for r in listed if "htmlPath" in r["data"][0]))
            case "traces/t1":
                return Answer(body=next(r for r in self.recorded if r.get("id") == "t1"))
            case "scores":
                return Answer(body=next(r for r in listed if "stringValue" in r["data"][0]))
        return super().answer(call)


def test_the_answers_of_a_real_server_become_a_run_with_a_call_and_a_score(tmp_path: Path) -> None:
    with RecordedServer().running() as server, Store.create(tmp_path) as store:
        with open_source(Selection(), environ=environ_of(server)) as source:
            report = pull(store, source)
        (call,) = load_calls(store, store.resolve_run("s1"))
        with store.connect() as db:
            scores = db.execute("SELECT name, value FROM scores").fetchall()
    assert (report.spans, report.rejects) == (3, [])
    assert call.request["messages"] == [{"role": "user", "content": "hi"}]
    assert call.request["tools"] == [{"type": "function", "function": {"name": "get"}}]
    assert call.replies[0].tool_calls[0].name == "get"
    assert scores == [("counterfactual_effect", 0.7)]
