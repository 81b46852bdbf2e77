from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from whyspan.analysis.cases import Case, Origin
from whyspan.analysis.replay.configuration import read_entries
from whyspan.analysis.replay.models import ModelChoice, choose_model
from whyspan.analysis.replay.providers.bedrock import SigV4
from whyspan.analysis.replay.providers.http import Target
from whyspan.analysis.targets import parse_target
from whyspan.ingest.calls import Api
from whyspan.ingest.errors import ConfigError, UsageError


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def case(api: Api = Api.OPENAI_CHAT, *, provider: str = "", base_url: str = "", service: str = "") -> Case:
    origin = Origin(provider=provider, base_url=base_url, service=service)
    return Case(api=api, request={"model": "gpt-4o-mini"}, target=parse_target("no-tool"), origin=origin)


def target(question: Case, env: Mapping[str, str], **options: Any) -> Target:
    return choose_model(environ=env, **options).target(question)


KEYS = {
    "OPENAI_API_KEY": "ok", "ANTHROPIC_API_KEY": "ak", "GEMINI_API_KEY": "gk", "AWS_BEARER_TOKEN_BEDROCK": "bk",
    "AWS_REGION": "eu-west-1", "GROQ_API_KEY": "qk",
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "url", "header"),
    [
        (case(provider="openai"), "https://api.openai.com/v1", ("authorization", "Bearer ok")),
        (case(base_url="https://api.openai.com/v1"), "https://api.openai.com/v1", ("authorization", "Bearer ok")),
        (case(base_url="api.openai.com"), "https://api.openai.com/v1", ("authorization", "Bearer ok")),
        (case(Api.OPENAI_RESPONSES), "https://api.openai.com/v1", ("authorization", "Bearer ok")),
        (case(Api.ANTHROPIC_MESSAGES), "https://api.anthropic.com", ("x-api-key", "ak")),
        (case(Api.GEMINI_GENERATE), "https://generativelanguage.googleapis.com/v1beta", ("x-goog-api-key", "gk")),
        (case(Api.BEDROCK_CONVERSE), "https://bedrock-runtime.eu-west-1.amazonaws.com", ("authorization", "Bearer bk")),
        (case(provider="groq"), "https://api.groq.com/openai/v1", ("authorization", "Bearer qk")),
    ],
)
def test_a_case_goes_back_to_the_provider_that_has_seen_it(question: Case, url: str, header: tuple[str, str]) -> None:
    found = target(question, KEYS)
    assert found.url == url
    assert found.headers[header[0]] == header[1]
    assert "ok" not in found.identity


@pytest.mark.parametrize(
    "question",
    [
        case(),
        case(provider="unknown_vendor"),
        case(provider="openai", base_url="https://llm.internal.example/v1"),
        case(Api.ANTHROPIC_MESSAGES, base_url="https://proxy.example"),
        case(base_url="https://api.openai.com.evil.example/v1"),
        case(Api.BEDROCK_CONVERSE, base_url="https://bedrock-runtime.amazonaws.com.evil.example"),
    ],
)
def test_a_case_of_another_host_goes_nowhere_unasked(question: Case) -> None:
    with pytest.raises(UsageError, match="sends it nowhere else unasked") as caught:
        target(question, KEYS)
    assert "--base-url" in (caught.value.hint or "")


def test_a_url_that_the_user_names_is_used_for_any_case() -> None:
    found = target(case(base_url="https://llm.internal.example/v1"), KEYS, base_url="http://127.0.0.1:8000/v1")
    assert found.url == "http://127.0.0.1:8000/v1"


def test_the_variable_of_the_vendors_client_is_obeyed() -> None:
    assert target(case(), {"OPENAI_BASE_URL": "http://localhost:1/v1"}).url == "http://localhost:1/v1"
    assert target(case(Api.OLLAMA_CHAT), {"OLLAMA_HOST": "box:1"}).url == "http://box:1"
    assert target(case(Api.OLLAMA_CHAT), {"OLLAMA_HOST": "box"}).url == "http://box:11434"


@pytest.mark.parametrize(
    ("question", "variable"),
    [(case(provider="openai"), "OPENAI_API_KEY"), (case(Api.ANTHROPIC_MESSAGES), "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_names_its_variable(question: Case, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"{variable} is not set"):
        target(question, {"GROQ_API_KEY": "x"})


def test_nothing_configured_is_an_error_at_once() -> None:
    with pytest.raises(UsageError, match="no model to replay with"):
        choose_model(environ={})
    with pytest.raises(UsageError, match="either"):
        choose_model(model_fn="a.py:f", base_url="http://x", environ={})


CONFIG = """
[providers.azure]
match = { service = "billing", api = "openai.chat", model = "gpt-4o*" }
base_url = "https://example.openai.azure.com/openai/v1"
key = "AZURE_KEY"
key_header = "api-key"
query = { api-version = "preview" }
model = "my-deployment"
requests_per_minute = 60

[providers.router]
match = { provider = "openrouter" }
base_url = "https://openrouter.ai/api/v1"
key = "OPENROUTER_API_KEY"
body = { provider = { order = ["openai"], allow_fallbacks = false } }
timeout_s = 30
"""


def configured(question: Case, **env: str) -> ModelChoice:
    Path("whyspan.toml").write_text(CONFIG)
    choice = choose_model(environ={"AZURE_KEY": "zk", "OPENROUTER_API_KEY": "rk", **env})
    assert choice.entries
    return choice


def test_the_first_entry_that_matches_counts() -> None:
    question = case(service="billing")
    found = configured(question).target(question)
    assert found.url == "https://example.openai.azure.com/openai/v1"
    assert found.headers == {"api-key": "zk"}
    assert (found.query, found.model) == ({"api-version": "preview"}, "my-deployment")
    assert configured(question).limits(question).requests_per_minute == 60


def test_a_router_can_be_pinned_and_its_replies_are_kept_apart() -> None:
    question = case(provider="openrouter")
    found = configured(question).target(question)
    assert found.extra == {"provider": {"order": ["openai"], "allow_fallbacks": False}}
    assert found.timeout_s == 30
    assert found.identity != found.url


def test_what_no_entry_matches_follows_the_rules_of_hosts() -> None:
    question = case(service="shipping")
    with pytest.raises(UsageError, match="nowhere else"):
        configured(question).target(question)


def test_a_key_that_an_entry_names_must_be_set() -> None:
    question = case(service="billing")
    with pytest.raises(ConfigError, match="AZURE_KEY is not set"):
        configured(question, AZURE_KEY="").target(question)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"a": 1}, "must be a table"),
        ({"a": {}}, "has no base_url"),
        ({"a": {"base_url": 1}}, "must be text"),
        ({"a": {"base_url": "x", "bas_url": "y"}}, "unknown key 'bas_url'"),
        ({"a": {"base_url": "x", "match": {"modle": "y"}}}, "unknown key 'modle'"),
        ({"a": {"base_url": "x", "match": {"api": "openai"}}}, "unknown api 'openai'"),
        ({"a": {"base_url": "x", "match": {"api": 1}}}, "must be text"),
        ({"a": {"base_url": "x", "requests_per_minute": "many"}}, "must be a number"),
        ({"a": {"base_url": "x", "headers": "h"}}, "must be a table"),
        ({"a": {"base_url": "x", "timeout_s": True}}, "must be a number"),
    ],
)
def test_a_wrong_entry_says_what_is_wrong(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_entries(section)


def test_bedrock_requests_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    request = httpx.Request(
        "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/a%3A0/converse", content=b"{}",
        headers={"content-type": "application/json"},
    )  # fmt: skip
    signed = next(SigV4("us-east-1").auth_flow(request))
    assert signed.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/us-east-1/bedrock/aws4_request" in signed.headers["authorization"]


def test_bedrock_without_credentials_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="no AWS credentials"):
        target(case(Api.BEDROCK_CONVERSE), {"AWS_REGION": "us-east-1", "OPENAI_API_KEY": "x"})
