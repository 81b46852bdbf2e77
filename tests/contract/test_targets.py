"""What every registered write-back target promises: idempotent, resumable, verified, discreet, nothing lost."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from backend_server import CUT, Answer
from claims import CASE, CLAIM, SECRET, make_result
from target_cases import CASES

from whyspan.analysis.attribution.problem import Tally
from whyspan.analysis.claims import Claim, Verdict
from whyspan.analysis.writeback.deliver import Outcome, verify, write_back
from whyspan.analysis.writeback.delivery import Target
from whyspan.analysis.writeback.outbox import Outbox
from whyspan.analysis.writeback.registry import targets
from whyspan.analysis.writeback.results import Result
from whyspan.ingest.errors import ConfigError, UpstreamError
from whyspan.ingest.remote import Patience

EXPECTED = [("whyspan.cause_effect", -0.9), ("whyspan.verdict", "supported")]

each_case = pytest.mark.parametrize("name", list(CASES), ids="-".join)


def other_claim(letter: str) -> Claim:
    return replace(CLAIM, intervention_id=letter * 64)


@contextmanager
def opened(name: tuple[str, str], server: Any, *, attempts: int = 1) -> Iterator[Target]:
    patience = Patience(attempts=attempts, sleep=lambda _: None)
    with targets()[name[0]](environ=CASES[name].environ(server), patience=patience) as target:
        yield target


def send(path: Path, name: tuple[str, str], server: Any, *results: Result, attempts: int = 1) -> Outcome:
    with opened(name, server, attempts=attempts) as target, Outbox.open(path) as outbox:
        return write_back(target, name[0], results or (make_result(),), outbox)


def done(outcome: Outcome) -> int:
    return outcome.sent + outcome.skipped


def bodies(server: Any) -> str:
    return "".join(str(call.body) for call in server.calls)


def test_every_registered_target_is_under_contract() -> None:
    assert set(targets()) == {target for target, _ in CASES}


def test_the_same_claim_about_another_run_has_an_id_of_its_own() -> None:
    repeated = replace(CLAIM, case=replace(CASE, origin=replace(CASE.origin, trace_id="e" * 32)))
    ids = [make_result(claim).id_of("whyspan.verdict") for claim in (CLAIM, repeated)]
    assert repeated.id == CLAIM.id
    assert ids[0] != ids[1]


@each_case
def test_a_result_arrives_with_its_number_and_its_word(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        assert done(send(tmp_path, name, server)) == 2
        assert CASES[name].kept(server) == [(n, pytest.approx(v) if n != EXPECTED[1][0] else v) for n, v in EXPECTED]


def test_an_endpoint_without_logs_gets_the_span_alone(tmp_path: Path) -> None:
    with CASES["otlp", "without logs"].make().running() as server:
        outcome = send(tmp_path, ("otlp", "without logs"), server)
    assert (outcome.sent, outcome.skipped) == (1, 1)


@each_case
def test_writing_back_again_changes_nothing(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        send(tmp_path / ".", name, server)
        before, calls = CASES[name].kept(server), len(server.calls)
        again = send(tmp_path, name, server)
        assert (again.sent, again.known) == (0, 2)
        assert len(server.calls) == calls
        (tmp_path / "outbox.sqlite").unlink()  # another store, another machine: the ids are the same
        send(tmp_path, name, server)
        assert CASES[name].kept(server) == before


@each_case
def test_more_replays_update_what_is_there(name: tuple[str, str], tmp_path: Path) -> None:
    more = replace(CLAIM, base=Tally(target=16, other=4), verdict=Verdict.REFUTED)
    with CASES[name].make().running() as server:
        send(tmp_path, name, server)
        send(tmp_path, name, server, make_result(more))
        kept = CASES[name].kept(server)
    newest = [("whyspan.cause_effect", pytest.approx(-0.8)), ("whyspan.verdict", "refuted")]
    if name[0] == "otlp":  # a span cannot be changed: other figures are another span
        assert len(kept) == 4
        assert all(item in kept for item in newest)
    else:
        assert kept == newest


@each_case
def test_nothing_is_lost_whenever_the_other_side_dies(name: tuple[str, str], tmp_path: Path) -> None:
    results = [make_result(other_claim(letter)) for letter in "def"]
    with CASES[name].make().running() as server:
        send(tmp_path, name, server, *results)
        whole, requests = CASES[name].kept(server), len(server.calls)
    for survived in sorted({0, 1, requests // 2, requests - 1}):
        folder = tmp_path / str(survived)
        folder.mkdir()
        with CASES[name].make().running() as server:
            server.dies_after = survived
            with pytest.raises(UpstreamError) as caught:
                send(folder, name, server, *results)
            assert "outbox" in (caught.value.hint or "")
            server.dies_after = None
            send(folder, name, server, make_result(CLAIM))  # what is waiting goes along with the next one
            assert len(CASES[name].kept(server)) == len(whole) + 2


@each_case
def test_failures_that_pass_are_survived(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        server.failures.extend([Answer(429, {}, {"Retry-After": "1"}), Answer(503, {}), CUT, None, CUT])
        assert done(send(tmp_path, name, server, attempts=5)) == 2
        assert len(CASES[name].kept(server)) == 2


@each_case
def test_what_is_refused_does_not_stop_the_rest(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        first = 1 if name[0] != "mlflow" else 2  # MLflow is asked first whether the feedback is there
        server.failures.extend([None] * (first - 1) + [Answer(422, {"message": "no such span"})])
        outcome = send(tmp_path, name, server, make_result(), make_result(other_claim("d")))
    assert done(outcome) == 3
    assert "no such span" in outcome.refused[0]


@each_case
def test_wrong_keys_are_a_matter_of_configuration(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        environ = CASES[name].environ(server)
        wrong = {k: v if v.startswith("http") else "authorization=wrong" for k, v in environ.items()}
        with (
            targets()[name[0]](environ=wrong) as target,
            Outbox.open(tmp_path) as outbox,
            pytest.raises(ConfigError, match="refuses the keys") as caught,
        ):
            write_back(target, name[0], [make_result()], outbox)
        assert caught.value.hint
        assert done(send(tmp_path, name, server)) == 2


@each_case
def test_everything_is_read_back_and_a_loss_is_noticed(name: tuple[str, str], tmp_path: Path) -> None:
    case = CASES[name]
    kept, lost = Outcome(), Outcome()
    with case.make().running() as server, opened(name, server) as target:
        send(tmp_path, name, server)
        verify(target, [make_result()], kept, sleep=lambda _: None)
        case.lose(server)
        missing = make_result(other_claim("d"))
        send(tmp_path, name, server, missing)
        verify(target, [missing], lost, sleep=lambda _: None)
    if case.can_read_back:
        assert (kept.verified, kept.lost) == (2, 0)
        assert (lost.verified, lost.lost) == (0, 2)
    else:
        assert (kept.verified, kept.unreadable) == (0, 2)


@each_case
def test_the_trace_is_quoted_only_when_asked(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        send(tmp_path, name, server)
        assert SECRET not in bodies(server)
        send(tmp_path, name, server, make_result(other_claim("d"), include_content=True))
        assert SECRET in bodies(server)


@each_case
def test_the_comment_says_how_it_was_measured(name: tuple[str, str], tmp_path: Path) -> None:
    with CASES[name].make().running() as server:
        send(tmp_path, name, server)
        sent = bodies(server)
    for said in ("[-1.00, -0.40]", "e-value 123"):
        assert said in sent


@each_case
def test_a_delivery_can_be_shown_and_holds_no_key(name: tuple[str, str]) -> None:
    with CASES[name].make().running() as server, opened(name, server) as target:
        shown = json.dumps([[d.path, dict(d.headers), d.content()] for d in target.deliveries([make_result()])])
        keys = [v for k, v in CASES[name].environ(server).items() if "URL" not in k and "URI" not in k]
        assert not server.calls
    assert "whyspan.cause_effect" in shown
    assert not any(key in shown for key in keys if not key.startswith("http"))
