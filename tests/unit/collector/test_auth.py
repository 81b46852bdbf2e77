import base64

import pytest

from whyspan.collector.auth import Authenticator, parse_tokens
from whyspan.collector.refusals import Reason, Refusal
from whyspan.ingest.errors import ConfigError

TOKENS = {"ci": "s3cret", "pk-lf-1": "sk-lf-1"}


def basic(name: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


def test_without_tokens_everybody_is_known_by_address() -> None:
    assert Authenticator({}).client("", "10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize(
    ("authorization", "client"),
    [
        ("Bearer s3cret", "ci"),
        ("bearer  s3cret", "ci"),
        (basic("ci", "s3cret"), "ci"),
        (basic("pk-lf-1", "sk-lf-1"), "pk-lf-1"),
    ],
)
def test_a_valid_token_names_the_client(authorization: str, client: str) -> None:
    assert Authenticator(TOKENS).client(authorization, "10.0.0.1") == client


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", "s3cret", "Basic ???", "Basic /w==", basic("ci", "sk-lf-1"), basic("who", "s3cret")],
)
def test_anything_else_is_refused(authorization: str) -> None:
    with pytest.raises(Refusal) as refused:
        Authenticator(TOKENS).client(authorization, "10.0.0.1")
    assert refused.value.reason is Reason.UNAUTHENTICATED
    assert refused.value.retry_after_s is None


def test_tokens_are_read_from_one_variable() -> None:
    assert parse_tokens(" a=1, b=x=y ,", "V") == {"a": "1", "b": "x=y"}


def test_a_broken_variable_is_an_error_that_quotes_no_secret() -> None:
    with pytest.raises(ConfigError, match="WHYSPAN_TOKENS: entry 2 is not name=secret") as caught:
        parse_tokens("a=1,hidden", "WHYSPAN_TOKENS")
    assert "hidden" not in str(caught.value)
