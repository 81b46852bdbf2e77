"""Which model answers a replay, and with which key. A recorded context goes only where the user said it may go, or
back to the provider that has seen it already.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from ...ingest.calls import Api
from ...ingest.errors import ConfigError, UsageError
from ...ingest.settings import load_section
from ..cases import Case
from ..policy import NO_POLICY, Policy, load_policy
from .completion import Provider
from .configuration import ProviderEntry, read_entries
from .limits import Limits
from .providers.function import FunctionModel, identity_of
from .providers.http import HttpProvider, Target
from .providers.registry import wire_of
from .vendors import VENDORS, Vendor, vendor_of

API_HEADERS = {Api.ANTHROPIC_MESSAGES: {"anthropic-version": "2023-06-01"}}
HINT = "--base-url URL, --model-fn FILE:FUNCTION, or a [providers] entry in whyspan.toml says where replays go"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Where replays go: a function, a URL, or for each case what the configuration says of it."""

    model_fn: str | Callable[[dict[str, Any]], Any] = ""
    """`FILE:FUNCTION`, or a function."""
    base_url: str = ""
    """An endpoint that speaks the API of the recorded call."""
    entries: tuple[ProviderEntry, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    policy: Policy = NO_POLICY
    """What says to which hosts requests may go."""

    def open(self, case: Case) -> Provider:
        """Returns the provider for a case, ready to be asked.

        Raises UsageError or ConfigError, with what to configure or which rule, when the case may not be sent anywhere.
        """
        if callable(self.model_fn):
            return FunctionModel(self.model_fn, endpoint=identity_of(self.model_fn))
        if self.model_fn:
            return FunctionModel.load(self.model_fn)
        provider = HttpProvider(wire_of(case.api), self.target(case))
        self.policy.check_endpoint(provider.endpoint)
        return provider

    def limits(self, case: Case) -> Limits:
        """Returns the rate limits that are configured for a case's endpoint."""
        entry = None if self.model_fn or self.base_url else self._entry(case)
        if entry is None:
            return Limits()
        return Limits(requests_per_minute=entry.requests_per_minute, tokens_per_minute=entry.tokens_per_minute)

    def target(self, case: Case) -> Target:
        """Returns where a case's requests go over HTTP."""
        vendor = vendor_of(case.api, case.origin.provider, case.origin.base_url)
        if self.base_url:
            return self._at(self.base_url, _speaker_of(case.api), case)
        entry = self._entry(case)
        if entry is not None:
            return self._configured(entry, case)
        speaker = vendor or _speaker_of(case.api)
        moved = speaker.url_variable and self.environ.get(speaker.url_variable)
        if moved:
            return self._at(speaker.moved_to(moved), speaker, case)
        if vendor is None:
            raise UsageError(_unknown_host(case), hint=HINT)
        return self._own(vendor, case)

    def _entry(self, case: Case) -> ProviderEntry | None:
        values = {
            "service": case.origin.service,
            "provider": case.origin.provider,
            "api": case.api.value,
            "model": str(case.request.get("model", "")),
        }
        return next((e for e in self.entries if e.matches(values)), None)

    def _configured(self, entry: ProviderEntry, case: Case) -> Target:
        key = self.environ.get(entry.key, "") if entry.key else ""
        if entry.key and not key:
            raise ConfigError(f"[providers.{entry.name}]: {entry.key} is not set", hint=f"export {entry.key}=…")
        header = entry.key_header or _speaker_of(case.api).key_header
        return Target(
            url=entry.base_url,
            headers={**API_HEADERS.get(case.api, {}), **_key_header(header, key), **entry.headers},
            query=entry.query,
            model=entry.model,
            extra=entry.body,
            timeout_s=entry.timeout_s,
            auth=self._signature(case.api, entry.base_url) if not entry.key else None,
        )

    def _at(self, url: str, speaker: Vendor, case: Case) -> Target:
        """An endpoint that the user pointed at; the API's own key goes along when there is one."""
        headers = {**API_HEADERS.get(case.api, {}), **_key_header(speaker.key_header, speaker.key(self.environ))}
        return Target(url=url, headers=headers)

    def _own(self, vendor: Vendor, case: Case) -> Target:
        region = self.environ.get("AWS_REGION") or self.environ.get("AWS_DEFAULT_REGION") or ""
        if "{region}" in vendor.url and not region:
            raise ConfigError("the AWS region is not known", hint="export AWS_REGION=…")
        url, key = vendor.url.replace("{region}", region), vendor.key(self.environ)
        signature = None if key else self._signature(case.api, url)
        if vendor.keys and not key and signature is None:
            raise ConfigError(f"{vendor.keys[0]} is not set", hint=f"export {vendor.keys[0]}=…, or: {HINT}")
        headers = {**API_HEADERS.get(case.api, {}), **_key_header(vendor.key_header, key)}
        return Target(url=url, headers=headers, auth=signature)

    def _signature(self, api: Api, url: str) -> httpx.Auth | None:
        if api is not Api.BEDROCK_CONVERSE:
            return None
        from .providers.bedrock import SigV4

        host = (httpx.URL(url).host or "").split(".")
        named = host[1] if len(host) > 2 and host[0].startswith("bedrock-runtime") else ""
        return SigV4(named or self.environ.get("AWS_REGION") or self.environ.get("AWS_DEFAULT_REGION") or "us-east-1")


def choose_model(
    *,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    environ: Mapping[str, str] | None = None,
) -> ModelChoice:
    """Returns where replays go: the function, the URL given, or what environment and whyspan.toml say.

    Raises UsageError when nothing is configured at all: a recorded context is never sent to a host by guess.
    """
    env = os.environ if environ is None else environ
    if model_fn and base_url:
        raise UsageError("give either --model-fn or --base-url, not both")
    entries = read_entries(load_section("providers", environ=env))
    known = [name for v in VENDORS for name in (*v.keys, v.url_variable) if name and env.get(name)]
    if not (model_fn or base_url or entries or known):
        raise UsageError(
            "no model to replay with",
            hint="--base-url URL (any OpenAI-compatible server), --model-fn FILE:FUNCTION, or set OPENAI_API_KEY, "
            "ANTHROPIC_API_KEY or another provider's key",
        )
    return ModelChoice(model_fn=model_fn, base_url=base_url, entries=entries, environ=env, policy=load_policy())


def _speaker_of(api: Api) -> Vendor:
    """The provider whose API it is: the one that says which header carries a key."""
    asked = Api.OPENAI_CHAT if api is Api.FUNCTION else api
    return next(v for v in VENDORS if asked in v.apis)


def _key_header(header: str, key: str) -> dict[str, str]:
    if not key:
        return {}
    return {header: f"Bearer {key}" if header == "authorization" else key}


def _unknown_host(case: Case) -> str:
    origin = case.origin
    was = (
        f"the call was sent to {origin.base_url}"
        if origin.base_url
        else (
            f"the call was sent to {origin.provider}"
            if origin.provider
            else "the recording does not say where the call was sent"
        )
    )
    return f"{was}; whyspan sends it nowhere else unasked"
