import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whyspan.analysis.cases import Case
from whyspan.analysis.regression.redaction import redact, user_rule
from whyspan.ingest.errors import UsageError

SECRETS = {
    "API key": "sk-proj-" + "a1B2" * 8,
    "Stripe key": "sk_live_" + "a1B2" * 6,
    "AWS key": "AKIA" + "ABCD2345" * 2,
    "Google key": "AIza" + "a1B2c" * 7,
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "a1B2c" * 4,
    "Slack token": "xoxb-" + "12345-" * 3,
    "JSON web token": "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize(("name", "secret"), SECRETS.items())
def test_a_secret_is_replaced_wherever_it_stands(build_case: Callable[..., Case], name: str, secret: str) -> None:
    found = redact(build_case(mail=f"key: {secret} and again {secret}.", system=f"Use {secret}"))
    assert secret not in json.dumps(found.case.request)
    assert found.counts == {name: 3}
    assert json.dumps(found.case.request).count(f"[redacted {name} 1]") == 3


def test_two_secrets_get_two_placeholders(build_case: Callable[..., Case]) -> None:
    first, second = "sk-" + "a" * 24, "sk-" + "b" * 24
    found = redact(build_case(mail=f"{first} {second} {first}"))
    assert found.case.request["messages"][-1]["content"] == (
        "[redacted API key 1] [redacted API key 2] [redacted API key 1]"
    )


def test_only_the_secret_part_goes(build_case: Callable[..., Case]) -> None:
    found = redact(build_case(mail="postgres://ann:hunter22@db.example/x, Authorization: Bearer abcdefghijklmnop1234"))
    assert found.case.request["messages"][-1]["content"] == (
        "postgres://ann:[redacted password in a URL 1]@db.example/x, Authorization: Bearer [redacted bearer token 1]"
    )


def test_a_secret_in_earlier_arguments_leaves_valid_json(build_case: Callable[..., Case]) -> None:
    case = build_case()
    call = case.request["messages"][2]["tool_calls"][0]["function"]
    call["arguments"] = json.dumps({"key": "sk-" + "a" * 30})
    arguments = redact(case).case.request["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"key": "[redacted API key 1]"}


def test_a_case_without_secrets_is_the_same_object(case: Case) -> None:
    assert redact(case).case is case


def test_claims_that_quote_a_secret_are_cleaned_too(build_case: Callable[..., Case]) -> None:
    secret = "ghp_" + "z" * 36
    found = redact(build_case(mail=f"use {secret}"))
    assert found.clean({"subject": f"use {secret}", "n": 3}) == {"subject": "use [redacted GitHub token 1]", "n": 3}


def test_a_rule_of_the_users_own_is_applied(build_case: Callable[..., Case]) -> None:
    found = redact(build_case(mail="Patient Meyer"), [user_rule("Mey(er)")])
    assert found.case.request["messages"][-1]["content"] == "Patient [redacted text 1]"


def test_a_wrong_rule_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        user_rule("(")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_redacting_twice_changes_nothing_more(build_case: Callable[..., Case], text: str) -> None:
    once = redact(build_case(mail=text + " sk-" + "a" * 24))
    assert redact(once.case).case == once.case
