"""Which API a call went to."""

from collections.abc import Iterable, Mapping

from ..calls import Api, Body
from ..dialects.partial import Found, PartialCall, Trust

_PROVIDERS: Mapping[str, Api] = {
    "anthropic": Api.ANTHROPIC_MESSAGES,
    "aws": Api.BEDROCK_CONVERSE,
    "bedrock": Api.BEDROCK_CONVERSE,
    "gcp": Api.GEMINI_GENERATE,
    "gemini": Api.GEMINI_GENERATE,
    "google": Api.GEMINI_GENERATE,
    "vertex": Api.GEMINI_GENERATE,
    "ollama": Api.OLLAMA_CHAT,
}


def choose_api(call: PartialCall, scopes: Iterable[str] = ()) -> Found[Api]:
    """Returns the API with its evidence: named, else by the body, the response id, provider or library.

    `scopes` are the instrumentation libraries of the call's spans.

    A call without any of these is taken as OpenAI chat, the form that most servers speak, and the source says so.
    """
    if call.api is not None:
        return call.api
    if call.body is not None:
        shape = _api_of_body(call.body.value, call)
        if shape is not None:
            return Found(shape, f"shape of {call.body.source}", Trust.CONTEXT)
    if call.response_id is not None and call.response_id.value.startswith("resp_"):
        return Found(Api.OPENAI_RESPONSES, f"prefix of {call.response_id.source}", Trust.CONTEXT)
    by_provider = _api_of_provider(call) or _api_of_library(scopes)
    if by_provider is not None:
        return by_provider
    if call.body is not None and isinstance(call.body.value.get("input"), list | str):
        return Found(Api.OPENAI_RESPONSES, f"shape of {call.body.source}", Trust.CONTEXT)
    return Found(Api.OPENAI_CHAT, "assumed: no span names the provider's API", Trust.CONTEXT)


def _api_of_body(body: Body, call: PartialCall) -> Api | None:
    if "contents" in body:
        return Api.GEMINI_GENERATE
    if "inferenceConfig" in body or "toolConfig" in body or "modelId" in body:
        return Api.BEDROCK_CONVERSE
    if "messages" not in body and "input" in body:
        return Api.OPENAI_RESPONSES
    return None


def _api_of_library(scopes: Iterable[str]) -> Found[Api] | None:
    for scope in scopes:
        words = scope.lower().replace("-", "_").replace(".", "_").split("_")
        api = next((_PROVIDERS[word] for word in words if word in _PROVIDERS), None)
        if api is not None:
            return Found(api, f"instrumentation library {scope!r}", Trust.CONTEXT)
    return None


def _api_of_provider(call: PartialCall) -> Found[Api] | None:
    provider = call.provider
    if provider is None:
        return None
    words = provider.value.lower().replace("-", "_").replace(".", "_").split("_")
    api = next((_PROVIDERS[word] for word in words if word in _PROVIDERS), None)
    return Found(api or Api.OPENAI_CHAT, f"provider {provider.value!r} in {provider.source}", Trust.CONTEXT)
