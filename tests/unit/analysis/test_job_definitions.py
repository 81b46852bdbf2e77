"""`[jobs.NAME]`: what is read, and what is said about what is wrong."""

from pathlib import Path

import pytest

from whyspan.analysis.jobs.definition import Job, Step, find_job, load_jobs
from whyspan.analysis.jobs.notification import read_channel
from whyspan.ingest.errors import ConfigError, UsageError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def define(text: str) -> None:
    Path("whyspan.toml").write_text(f"[jobs.nightly]\n{text}\n")


def test_a_job_needs_no_more_than_a_selection() -> None:
    define('select = "claims = 0"')
    assert load_jobs() == {"nightly": Job(name="nightly", select="claims = 0")}


def test_steps_are_done_in_order_whatever_the_order_given() -> None:
    define('select = "true"\ndo = ["test", "why", "fix"]')
    assert find_job("nightly").do == (Step.WHY, Step.FIX, Step.TEST)


def test_a_cause_need_not_be_followed() -> None:
    define('select = "true"\ndepth = 0')
    assert find_job("nightly").depth == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget = 5", "needs select or triage"),
        ('select = "true"\ntriage = 5', "needs select or triage"),
        ('select = "true"\nbugdet = 5', "unknown key 'bugdet'"),
        ('select = "true"\nbudget = "5"', "budget must be a whole number, not '5'"),
        ('select = "true"\nbudget = true', "budget must be a whole number, not True"),
        ('select = "true"\nbudget = 0', "budget cannot be 0"),
        ('select = "true"\ndepth = -1', "depth cannot be -1"),
        ('select = "true"\ndepth = 1.5', "depth must be a whole number, not 1.5"),
        ('select = "true"\ndepth = "3"', "depth must be a whole number, not '3'"),
        ('select = "true"\nmax_cost = -1.0', "max_cost cannot be -1.0"),
        ('select = "true"\ndo = "why"', "do must be a list"),
        ('select = "true"\ndo = ["wy"]', "unknown step 'wy'"),
        ('select = "true"\ndo = []', "do is empty"),
        ('select = "true"\nnotify = [3]', "notify must be a list of words"),
    ],
)
def test_a_wrong_job_says_what_is_wrong(text: str, message: str) -> None:
    define(text)
    with pytest.raises(ConfigError, match=message):
        load_jobs()


def test_a_target_that_is_not_there_is_refused() -> None:
    define('select = "true"\nto = ["otlp", "nowhere"]')
    with pytest.raises(UsageError, match="'nowhere'"):
        load_jobs()


def test_without_jobs_the_way_to_one_is_shown() -> None:
    with pytest.raises(UsageError, match="no job 'nightly'") as caught:
        find_job("nightly")
    assert "[jobs.NAME]" in str(caught.value.hint)


def test_channels_take_their_urls_from_the_environment() -> None:
    assert read_channel("slack:$HOOK", {"HOOK": "https://x"}).url == "https://x"
    assert read_channel("stdout", {}).url == ""


@pytest.mark.parametrize("text", ["mail:x", "slack", "slack:", "stdout:x", "slack:$UNSET"])
def test_a_wrong_channel_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="notify"):
        read_channel(text, {})
