"""Killing a job loses nothing that was stored: what was answered is never asked for again."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from model_server import Answer, Received, chat_reply, model_server

from whyspan.analysis.canonical import digest
from whyspan.analysis.cases import Case
from whyspan.analysis.replay.budget import Budget
from whyspan.analysis.replay.completion import Completion
from whyspan.analysis.replay.engine import ReplayEngine
from whyspan.analysis.replay.reply_store import SqliteReplyStore
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api, Body, ModelReply

CONCURRENCY = 16
SAMPLES = 60


class LoggedModel:
    """Notes each question and each answer it gives in a file that survives the process."""

    endpoint = "logged"
    batch = 1

    def __init__(self, log: Path, seed: int) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._chance = random.Random(seed)

    async def complete(self, request: Body, count: int) -> Sequence[Completion]:
        os.write(self._log, b"asked\n")
        await asyncio.sleep(self._chance.uniform(0, 0.004))
        return [Completion(reply=ModelReply(text="x"))]

    async def aclose(self) -> None:
        os.close(self._log)


def work(folder: Path, seed: int) -> None:
    engine = ReplayEngine(
        LoggedModel(folder / "log", seed),
        SqliteReplyStore(folder / "r.sqlite"),
        Budget(SAMPLES),
        concurrency=CONCURRENCY,
    )
    asyncio.run(engine.sample({"model": "m"}, 0, SAMPLES))


def run_and_kill(folder: Path, seed: int, after_s: float | None) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work(folder, seed)
            status = 0
        finally:
            os._exit(status)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("seed", range(50))
def test_a_killed_job_pays_again_only_for_what_was_in_flight(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    kills = chance.randint(1, 3)
    for n in range(kills):
        run_and_kill(tmp_path, seed * 10 + n, chance.uniform(0.0, 0.05))
    run_and_kill(tmp_path, seed, None)
    asked = (tmp_path / "log").read_text().count("asked")
    # What is answered in one turn of the event loop is stored at its end, when as many again may have been asked.
    assert SAMPLES <= asked <= SAMPLES + kills * 2 * CONCURRENCY
    run_and_kill(tmp_path, seed, None)
    assert (tmp_path / "log").read_text().count("asked") == asked, "a finished job asks nothing"
    assert len(SqliteReplyStore(tmp_path / "r.sqlite").find("logged", digest({"model": "m"}), 0, SAMPLES)) == SAMPLES


SCRIPT = """
import asyncio, json, sys
from whyspan.analysis.canonical import digest
from whyspan.analysis.cases import Case
from whyspan.analysis.desk import open_desk
from whyspan.analysis.replays import compare
from whyspan.ingest.store import Store
case = Case.from_json(json.loads(sys.argv[1]))
Store.create("store").close()
with open_desk(store="store", base_url=sys.argv[2], budget=300, concurrency=8) as desk:
    print(asyncio.run(compare(desk, case, (), 200)).rows[0].tally.draws)
"""


def test_a_killed_process_goes_on_where_it_was(tmp_path: Path) -> None:
    def respond(request: Received) -> Answer:
        time.sleep(0.005)
        reply = chat_reply(request)
        return Answer({**reply.body, "choices": reply.body["choices"][:1]})

    case = Case(
        api=Api.OPENAI_CHAT, request={"model": "m", "messages": [{"role": "user", "content": "go"}]},
        target=parse_target("no-tool"),
    )  # fmt: skip
    with model_server(respond) as server:
        command = [sys.executable, "-c", SCRIPT, json.dumps(case.to_json()), server.url + "/v1"]
        first = subprocess.Popen(command, cwd=tmp_path)
        deadline = time.monotonic() + 60
        while len(server.received) < 60 and time.monotonic() < deadline:
            time.sleep(0.01)
        first.kill()
        first.wait()
        before = len(server.received)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "200"
    assert 60 <= before < 200
    assert len(server.received) <= 200 + 2 * 8
    assert Counter(r.path for r in server.received).keys() == {"/v1/chat/completions"}
