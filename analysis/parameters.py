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
