"""Patience with other back ends: what is tried again, for how long, and what is said."""

import time
from email.utils import formatdate

import pytest
from backend_server import Answer, Backend, Call

from whyspan.ingest.errors import ConfigError, UpstreamError
from whyspan.ingest.remote import Account, AnsweredError, Patience, Remote, retry_after_s


class Echo(Backend):
    def answer(self, call: Call) -> Answer:
        return Answer(body={"path": call.path})


def pauses(server: Echo, *, attempts: int = 4, longest_s: float = 60.0) -> list[float]:
    slept: list[float] = []
    patience = Patience(attempts=attempts, longest_pause_s=longest_s, sleep=slept.append)
    with Remote(Account(base_url=server.url), patience=patience) as remote:
        assert remote.get("/x") == {"path": "/x"}
    return slept


def test_retry_after_is_obeyed_in_both_forms_up_to_a_cap() -> None:
    in_a_minute = formatdate(time.time() + 60, usegmt=True)
    with Echo().running() as server:
        for after in ("7", in_a_minute, "100000"):
            server.failures.append(Answer(429, {}, {"Retry-After": after}))
        seconds, date, capped = pauses(server, longest_s=90)
    assert 7 <= seconds <= 7.25
    assert 57 <= date <= 61
    assert 90 <= capped <= 90.25


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon"}, None),
    ],
)
def test_how_long_to_wait_is_read_in_every_form(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers) == expected


def test_how_long_to_wait_may_be_a_date() -> None:
    later = formatdate(time.time() + 30, usegmt=True)
    assert retry_after_s({"retry-after": later}) == pytest.approx(30, abs=2)


def test_without_a_hint_the_pause_doubles() -> None:
    with Echo().running() as server:
        server.failures.extend([Answer(503), Answer(502), Answer(500)])
        first, second, third = pauses(server)
    assert 0.25 <= first <= 0.5 <= second <= 1.0 <= third <= 2.0


@pytest.mark.parametrize("status", [400, 404, 422])
def test_what_cannot_succeed_is_not_tried_again(status: int) -> None:
    with Echo().running() as server, Remote(Account(base_url=server.url)) as remote:
        server.failures.append(Answer(status, {"message": "no"}))
        with pytest.raises(AnsweredError, match=str(status)):
            remote.get("/x")
        assert len(server.calls) == 1


def test_patience_ends() -> None:
    with Echo().running() as server:
        server.failures.extend([Answer(503)] * 3)
        patience = Patience(attempts=3, sleep=lambda _: None)
        with Remote(Account(base_url=server.url), patience=patience) as remote, pytest.raises(UpstreamError) as caught:
            remote.get("/x")
    assert caught.value.transient
    assert len(server.calls) == 3


def test_a_page_that_is_no_json_is_said_to_be_none() -> None:
    class Page(Echo):
        def answer(self, call: Call) -> Answer:
            return Answer(body=b"<html>Log in</html>")

    with (
        Page().running() as server,
        Remote(Account(base_url=server.url)) as remote,
        pytest.raises(AnsweredError, match="Log in"),
    ):
        remote.get("/x")


def test_keys_are_in_no_message() -> None:
    account = Account(base_url="http://127.0.0.1:9", user="pk", password="sk-secret", headers={"authorization": "sk-2"})
    with Remote(account, patience=Patience(attempts=1)) as remote, pytest.raises(UpstreamError) as caught:
        remote.get("/x")
    assert "sk-" not in f"{account} {caught.value.message} {caught.value.hint}"


def test_an_address_that_is_none_is_a_matter_of_configuration() -> None:
    with pytest.raises(ConfigError, match="is not a URL"):
        Remote(Account(base_url="http://[::1"))
