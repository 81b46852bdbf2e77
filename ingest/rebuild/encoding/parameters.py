"""Which parameters an API has, where they go in its body, and by which other names they get recorded."""

from collections.abc import Iterator, Mapping

from ...calls import Api, Body, Json
from ...dialects.partial import Found

_SYNONYMS = (
    ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict"),
    ("stop", "stop_sequences", "stopSequences"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("n", "candidateCount", "candidate_count"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("tool_choice", "toolChoice"),
    ("response_mime_type", "responseMimeType"),
    ("response_schema", "responseSchema"),
    ("response_json_schema", "responseJsonSchema"),
    ("thinking_config", "thinkingConfig"),
    ("response_modalities", "responseModalities"),
)
_SHARED = "metadata service_tier stream temperature tool_choice top_p"
_OPENAI = (
    f"{_SHARED} parallel_tool_calls prompt_cache_key prompt_cache_retention safety_identifier store stream_options "
    "top_logprobs user verbosity"
)
_NAMES: Mapping[Api, str] = {
    Api.OPENAI_CHAT: (
        f"{_OPENAI} audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
        "max_tokens modalities n prediction presence_penalty reasoning_effort response_format seed stop "
        "web_search_options "
        # Servers that speak this API (vLLM, llama.cpp, SGLang, OpenRouter) take these too.
        "top_k min_p repetition_penalty length_penalty min_tokens ignore_eos chat_template_kwargs guided_json "
        "guided_regex guided_choice extra_body reasoning provider thinking enable_thinking"
    ),
    Api.OPENAI_RESPONSES: (
        f"{_OPENAI} background conversation include max_output_tokens max_tool_calls previous_response_id prompt "
        "reasoning text truncation"
    ),
    Api.ANTHROPIC_MESSAGES: (
        f"{_SHARED} container context_management max_tokens mcp_servers output_config output_format stop_sequences "
        "thinking top_k"
    ),
    Api.GEMINI_GENERATE: (
        "candidateCount frequencyPenalty logprobs maxOutputTokens mediaResolution presencePenalty responseJsonSchema "
        "responseLogprobs responseMimeType responseModalities responseSchema seed speechConfig stopSequences "
        "temperature thinkingConfig topK topP"
    ),
    Api.BEDROCK_CONVERSE: "maxTokens stopSequences temperature topP",
    Api.OLLAMA_CHAT: (
        "frequency_penalty min_p mirostat num_batch num_ctx num_gpu num_keep num_predict presence_penalty "
        "repeat_last_n repeat_penalty seed stop temperature tfs_z top_k top_p typical_p"
    ),
}
_NAMES_BY_API = {api: tuple(names.split()) for api, names in _NAMES.items()}
_NAMES_BY_API[Api.FUNCTION] = _NAMES_BY_API[Api.OPENAI_CHAT]
_OUTSIDE: Mapping[Api, tuple[str, ...]] = {
    Api.GEMINI_GENERATE: ("toolConfig", "safetySettings", "cachedContent"),
    Api.BEDROCK_CONVERSE: (
        "additionalModelRequestFields", "additionalModelResponseFieldPaths", "guardrailConfig", "performanceConfig",
        "promptVariables", "requestMetadata",
    ),
    Api.OLLAMA_CHAT: ("stream", "format", "keep_alive", "think", "logprobs", "top_logprobs"),
}  # fmt: skip
"""Parameters beside the API's settings object (`generationConfig`, `inferenceConfig`, `options`)."""
_HOLDER: Mapping[Api, str] = {
    Api.GEMINI_GENERATE: "generationConfig",
    Api.BEDROCK_CONVERSE: "inferenceConfig",
    Api.OLLAMA_CHAT: "options",
}
_INTEGERS = frozenset({"topK", "top_k", "maxOutputTokens", "max_tokens", "seed", "n", "candidateCount"})


def encode_parameters(api: Api, params: Mapping[str, Found[Json]]) -> tuple[dict[str, Json], dict[str, str]]:
    """Returns the body's fields for the parameters the API has, and each one's source.

    A name the API does not know is left out: client libraries record settings of their own beside the request's.
    """
    body: dict[str, Json] = {}
    sources: dict[str, str] = {}
    holder = _HOLDER.get(api)
    for name, found in _native(api, _NAMES_BY_API[api], params):
        target = body.setdefault(holder, {}) if holder else body
        target[name] = _whole(name, found.value)
        sources[f"{holder}.{name}" if holder else name] = found.source
    for name, found in _native(api, _OUTSIDE.get(api, ()), params):
        body[name] = found.value
        sources[name] = found.source
    return body, sources


def native_name(api: Api, name: str) -> str:
    """Returns a parameter's name in the API's words; empty when the API has no such parameter."""
    group = next((g for g in _SYNONYMS if name in g), (name,))
    known = (*_NAMES_BY_API[api], *_OUTSIDE.get(api, ()))
    names = [candidate for candidate in group if candidate in known]
    if "max_tokens" in names and "max_completion_tokens" in names:
        return "max_tokens or max_completion_tokens"
    if api is Api.BEDROCK_CONVERSE and name == "tool_choice":
        return "toolChoice"
    return names[0] if names else ""


def holds(api: Api, body: Body, name: str) -> bool:
    """Tells whether a body has a parameter, by any of its names."""
    holder = body.get(_HOLDER.get(api, ""))
    group = next((g for g in _SYNONYMS if name in g), (name,))
    return any(n in body or (isinstance(holder, Mapping) and n in holder) for n in group)


def _native(api: Api, names: tuple[str, ...], params: Mapping[str, Found[Json]]) -> Iterator[tuple[str, Found[Json]]]:
    taken: set[str] = set()
    for name in sorted(names, key=lambda n: n not in params):
        group = next((g for g in _SYNONYMS if name in g), (name,))
        if group[0] in taken:
            continue
        found = params.get(name) or next((params[n] for n in group if n in params), None)
        if found is not None and found.value is not None:
            taken.add(group[0])
            yield _preferred(api, name, group, params), found


def _preferred(api: Api, name: str, group: tuple[str, ...], params: Mapping[str, Found[Json]]) -> str:
    # Chat completions has an old and a new name for the same limit; a convention with one name does not tell which.
    if api in (Api.OPENAI_CHAT, Api.FUNCTION) and group[0] == "max_tokens" and name not in params:
        return "max_tokens"
    return name


def _whole(name: str, value: Json) -> Json:
    return int(value) if name in _INTEGERS and isinstance(value, float) and value.is_integer() else value
