import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from whyspan.collector.admission import Admission
from whyspan.collector.config import Limits
from whyspan.collector.refusals import Reason, Refusal


def admission(tmp_path: Path, backlog: int = 0, **limits: int) -> Admission:
    return Admission(Limits(**limits), tmp_path, lambda: backlog)


def refusal(admission: Admission, client: str = "c", size: int = 10) -> Refusal:
    with pytest.raises(Refusal) as refused, admission.request(client, size):
        raise AssertionError("admitted")
    return refused.value


def test_a_client_has_a_quota_and_gets_it_back(tmp_path: Path) -> None:
    gate = admission(tmp_path, requests_per_client=2)
    with gate.request("a", 1), gate.request("a", 1):
        refused = refusal(gate, "a")
        assert (refused.reason, refused.reason.http_status) == (Reason.CLIENT_QUOTA, 429)
        assert refused.retry_after_s is not None
        with gate.request("b", 1):
            pass
    with gate.request("a", 1):
        pass


def test_bytes_in_flight_are_bounded_but_a_large_request_alone_is_let_in(tmp_path: Path) -> None:
    gate = admission(tmp_path, in_flight_bytes=100)
    with gate.request("a", 500):
        assert refusal(gate).reason is Reason.OVERLOADED
    with gate.request("a", 60), gate.request("b", 40):
        assert refusal(gate).reason is Reason.OVERLOADED


def test_a_backlog_is_answered_with_a_delay_of_1_to_45_seconds(tmp_path: Path) -> None:
    refused = refusal(admission(tmp_path, backlog=2001, backlog_bytes=1000))
    assert (refused.reason, refused.reason.http_status) == (Reason.OVERLOADED, 503)
    assert refused.retry_after_s is not None
    assert 1 <= refused.retry_after_s <= 45


def test_a_full_disk_refuses_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10**12, free=10**6))
    assert refusal(admission(tmp_path)).reason is Reason.DISK
