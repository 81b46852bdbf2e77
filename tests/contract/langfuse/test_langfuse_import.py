"""What is particular about importing from Langfuse, against a server that behaves as versions 2 and 4 do."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from backend_server import Answer, Call
from langfuse_server import LangfuseServer
from source_cases import observation, score, span_id, trace_id

from whyspan.ingest.errors import ConfigError
from whyspan.ingest.remote import Patience, Remote
from whyspan.ingest.sources.langfuse import LangfuseSource, open_source
from whyspan.ingest.sources.langfuse.account import langfuse_account
from whyspan.ingest.sources.langfuse.readers import V1Reader, V2Reader, choose_reader
from whyspan.ingest.sources.pulling import pull
from whyspan.ingest.sources.source import Selection
from whyspan.ingest.spans import LogRecord, Span
from whyspan.ingest.store import Store

FIRST_NS = 1793491200 * 10**9
"""2026-11-01T00:00Z: run 0; each other run begins an hour after the one before."""


def environ_of(server: LangfuseServer) -> Mapping[str, str]:
    keys = {"LANGFUSE_PUBLIC_KEY": server.user, "LANGFUSE_SECRET_KEY": server.password}
    return {"LANGFUSE_BASE_URL": server.url, **keys}


def read(
    server: LangfuseServer, selection: Selection | None = None, *, media: bool = False
) -> tuple[list[Span], list[LogRecord]]:
    patience = Patience(attempts=1)
    with open_source(selection or Selection(), environ=environ_of(server), media=media, patience=patience) as source:
        batches = list(source.batches(None))
    return [s for b in batches for s in b.spans], [log for b in batches for log in b.logs]


def ids(spans: list[Span]) -> set[str]:
    return {span.span_id for span in spans}


@pytest.mark.parametrize(
    ("version", "reader"), [("2.95.12", V1Reader), ("3.225.4", V1Reader), ("4.16.0", V2Reader), ("5.0.0", V2Reader)]
)
def test_the_api_is_chosen_by_the_version_of_the_server(version: str, reader: type) -> None:
    with LangfuseServer(version).running() as server, Remote(langfuse_account(environ=environ_of(server))) as remote:
        assert isinstance(choose_reader(remote), reader)


def test_values_that_the_server_cuts_come_whole() -> None:
    metadata = {f"attributes.gen_ai.key{i}": f"{i} " + "x" * 400 for i in range(300)}
    with LangfuseServer(observations=[observation(0, 0, metadata=metadata)]).running() as server:
        (span,), _ = read(server)
        longest = max(len(str(call.query)) for call in server.calls)
    assert {f"attributes.{k}": v for k, v in span.attributes.items() if k.startswith("gen_ai.key")} == metadata
    assert longest < 8000


def test_media_are_fetched_when_asked_for_and_reported_otherwise() -> None:
    token = "@@@langfuseMedia:type=image/png|id=m1|source=base64_data_uri@@@"
    image = {"type": "image_url", "image_url": {"url": token}}
    content = [{"type": "text", "text": "What is this?"}, image]
    asked = observation(0, 1, input=json.dumps([{"role": "user", "content": content}]))
    with LangfuseServer(observations=[asked]).running() as server:
        server.media["m1"] = ("image/png", b"\x89PNG")
        without = read(server)[0][0]
        with_media = read(server, media=True)[0][0]
        signed = next(call for call in server.calls if "signed" in call.path)
    assert token in str(without.attributes["langfuse.observation.input"])
    assert "data:image/png;base64,iVBORw==" in str(with_media.attributes["langfuse.observation.input"])
    assert "authorization" not in signed.headers


def test_a_medium_that_is_gone_keeps_its_token() -> None:
    token = "@@@langfuseMedia:type=image/png|id=gone|source=file@@@"
    with LangfuseServer(observations=[observation(0, 1, input=f'"{token}"')]).running() as server:
        (span,), _ = read(server, media=True)
    assert span.attributes["langfuse.observation.input"] == f'"{token}"'


class Deleting(LangfuseServer):
    """Loses the first trace once the first page of traces has been given, as when somebody cleans up meanwhile."""

    def answer(self, call: Call) -> Answer:
        answer = super().answer(call)
        if call.path == "/api/public/traces" and call.one("page") == "1" and len(self.traces()) == 6:
            self.observations = [o for o in self.observations if o["traceId"] != trace_id(0)]
        return answer


def test_deleted_traces_move_the_pages_and_nothing_is_missed() -> None:
    with Deleting("2.95.12", observations=[observation(run, 0) for run in range(6)]).running() as server:
        server.page_limit = 2
        spans, _ = read(server)
    assert ids(spans) >= {span_id(run, 0) for run in range(1, 6)}


def test_what_has_not_ended_is_waited_for_and_then_taken_as_it_is(tmp_path: Path) -> None:
    running = observation(2, 0, endTime=None)
    minutes_later = FIRST_NS + 2 * 3600 * 10**9 + 600 * 10**9
    with (
        LangfuseServer(observations=[observation(0, 0), running]).running() as server,
        Remote(langfuse_account(environ=environ_of(server))) as remote,
        Store.create(tmp_path) as store,
    ):
        start = [minutes_later]
        source = LangfuseSource(remote, Selection(), now=lambda: start[0])
        assert pull(store, source).spans == 1
        running |= {"endTime": "2026-11-01T02:05:00.000Z"}
        server.observations[1] = running
        start[0] += 3600 * 10**9 * 24
        assert pull(store, source).spans == 1
        (ended,) = (s for s in store.spans(store.resolve_run(trace_id(2))) if s.span_id == span_id(2, 0))
    assert ended.end_ns > ended.start_ns


@pytest.mark.parametrize("version", ["4.16.0", "2.95.12"])
@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(trace_ids=(trace_id(1),)), {1}),
        (Selection(session_id="s1"), {1}),
        (Selection(tags=("b",)), {2}),
        (Selection(name="other"), {2}),
        (Selection(start_ns=FIRST_NS + 3600 * 10**9), {1, 2}),
        (Selection(end_ns=FIRST_NS + 3600 * 10**9), {0}),
    ],
    ids=["trace", "session", "tag", "name", "from", "to"],
)
def test_only_what_was_selected_comes_in_with_its_scores(
    version: str, selection: Selection, expected: set[int]
) -> None:
    runs = [
        observation(0, 0),
        observation(1, 0, sessionId="s1"),
        observation(2, 0, tags=["b"], traceName="other"),
    ]
    with LangfuseServer(version, observations=runs).running() as server:
        server.scores = {f"{run}": score(run, id=f"{run}") for run in range(3)}
        spans, scores = read(server, selection)
    assert {span.trace_id for span in spans} == {trace_id(run) for run in expected}
    assert {event.trace_id for event in scores} == {trace_id(run) for run in expected}


def test_a_cursor_that_the_server_has_forgotten_is_no_obstacle() -> None:
    with LangfuseServer(observations=[observation(run, 0) for run in range(4)]).running() as server:
        server.page_limit = 2
        with open_source(Selection(), environ=environ_of(server)) as source:
            first = next(iter(source.batches(None)))
            stale = {**first.position, "cursor": "!!"}
            batches = list(source.batches(stale))
    assert len({s.span_id for b in batches for s in b.spans}) == 4


@pytest.mark.parametrize("version", ["4.16.0", "2.95.12"])
def test_an_observation_that_was_changed_late_replaces_the_old_one(version: str, tmp_path: Path) -> None:
    first = observation(0, 0, output='"early"')
    with (
        LangfuseServer(version, observations=[first, observation(0, 1)]).running() as server,
        Store.create(tmp_path) as store,
    ):
        outputs = []
        for output, updated in (("early", "01"), ("late", "03"), ("stale", "02"), ("late", "03")):
            changed = {"output": f'"{output}"', "updatedAt": f"2026-11-{updated}T00:00:00.000Z"}
            server.observations[0] = first | changed
            with open_source(Selection(trace_ids=(trace_id(0),)), environ=environ_of(server)) as source:
                pull(store, source)
            spans = {str(span.span_id): span for span in store.spans(store.resolve_run(trace_id(0)))}
            outputs.append(str(spans[span_id(0, 0)].attributes["langfuse.observation.output"]).strip('"'))
        with store.connect() as db:
            (count,) = db.execute("SELECT count(*) FROM spans").fetchall()[0]
    assert outputs == ["early", "late", "late", "late"]
    assert count == 2


def test_a_changed_score_replaces_the_old_one(tmp_path: Path) -> None:
    with LangfuseServer(observations=[observation(0, 0)]).running() as server, Store.create(tmp_path) as store:
        for value, updated in ((0.0, "2026-11-01T00:01:00Z"), (1.0, "2026-11-02T00:00:00Z")):
            server.scores["s"] = score(0, id="s", value=value, updatedAt=updated)
            with open_source(Selection(trace_ids=(trace_id(0),)), environ=environ_of(server)) as source:
                pull(store, source)
        with store.connect() as db:
            rows = db.execute("SELECT value, source, judge, score_id FROM scores").fetchall()
    assert rows == [(1.0, "langfuse", "API", "s")]


def test_runs_that_users_disliked_are_one_query(tmp_path: Path) -> None:
    with (
        LangfuseServer(observations=[observation(run, 0) for run in range(3)]).running() as server,
        Store.create(tmp_path) as store,
    ):
        server.scores = {str(run): score(run, id=str(run), value=float(run != 1)) for run in range(3)}
        with open_source(Selection(), environ=environ_of(server)) as source:
            pull(store, source)
        query = "SELECT run_id FROM runs JOIN scores ON trace_id = run_id WHERE scores.name = 'thumbs' AND value < 0.5"
        with store.connect() as db:
            assert db.execute(query).fetchall() == [(trace_id(1),)]


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["[langfuse.eu]", 'host = "https://eu.example"', 'public_key_env = "EU_PUBLIC"', 'secret_key_env = "EU"']
    (tmp_path / "whyspan.toml").write_text("\n".join(lines), "utf-8")


@pytest.mark.usefixtures("profile")
def test_a_profile_names_a_project_and_its_keys_stay_in_the_environment() -> None:
    account = langfuse_account("eu", environ={"EU_PUBLIC": "pk", "EU": "sk"})
    assert (account.base_url, account.user, account.password) == ("https://eu.example", "pk", "sk")
    assert "sk" not in repr(account)


@pytest.mark.usefixtures("profile")
@pytest.mark.parametrize(("name", "environ", "said"), [("us", {}, "eu"), ("eu", {}, "EU_PUBLIC and EU")])
def test_a_wrong_profile_says_what_is_missing(name: str, environ: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        langfuse_account(name, environ=environ)
    assert said in f"{caught.value.message} {caught.value.hint}"
