"""Where the parameters of a request are: beside the messages, or in the settings object that some APIs have."""

from ..ingest.calls import Api, Body, Json
from ..ingest.errors import UsageError
from .fields import value_at, with_values

HOLDERS = {
    Api.GEMINI_GENERATE: "generationConfig",
    Api.BEDROCK_CONVERSE: "inferenceConfig",
    Api.OLLAMA_CHAT: "options",
}
"""API → the object that holds its sampling parameters."""
OUTSIDE = {
    Api.GEMINI_GENERATE: frozenset({"toolConfig", "safetySettings", "cachedContent"}),
    Api.BEDROCK_CONVERSE: frozenset(
        {"additionalModelRequestFields", "additionalModelResponseFieldPaths", "guardrailConfig", "performanceConfig",
         "promptVariables", "requestMetadata"}
    ),
    Api.OLLAMA_CHAT: frozenset({"format", "keep_alive", "think", "logprobs", "top_logprobs"}),
}  # fmt: skip
"""Parameters of those APIs that are beside the object."""
CONTENT = frozenset({"messages", "input", "contents", "model", "tools", "functions", "toolConfig.tools"})
"""What is no parameter: other interventions edit it."""
OUTPUT_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "maxTokens",
    "num_predict",
)
"""The names that the APIs have for the most tokens a reply may take."""


def with_parameter(api: Api, body: Body, name: str, value: Json) -> Body:
    """Returns the body with a parameter set where the API has it; None takes it away.

    A dotted name goes into objects (`response_format.type`). UsageError for what is no parameter.
    """
    if name in CONTENT:
        raise UsageError(f"{name!r} is no parameter", hint="--model, --drop, --replace and --system-file edit the rest")
    holder = HOLDERS.get(api)
    steps = tuple(name.split("."))
    if holder and steps[0] != holder and steps[0] not in OUTSIDE[api]:
        steps = (holder, *steps)
    for depth in range(1, len(steps)):
        if not isinstance(value_at(body, steps[:depth]), dict):
            body = with_values(body, [(steps[:depth], {})])
    if value is not None:
        return with_values(body, [(steps, value)])
    parent = value_at(body, steps[:-1]) if len(steps) > 1 else body
    kept = {k: v for k, v in parent.items() if k != steps[-1]}
    return with_values(body, [(steps[:-1], kept)]) if len(steps) > 1 else kept


def parameter(api: Api, body: Body, name: str) -> Json:
    """Returns a parameter from where the API has it; None when it is not set."""
    holder = HOLDERS.get(api)
    return value_at(body, (holder, name) if holder else (name,))


def output_limit(api: Api, body: Body) -> int | None:
    """Returns how many tokens a reply may take at most; None when the request does not say."""
    found = [parameter(api, body, name) for name in OUTPUT_LIMITS]
    limits = [v for v in found if isinstance(v, int) and v > 0]
    return min(limits) if limits else None
