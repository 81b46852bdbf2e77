"""Names of request fields by which dialects say what their convention has no place for.

They are neutral names; `rebuild` shows each in the words of the call's API, and only where the API has it.
"""

SETTINGS = frozenset(
    {"temperature", "top_p", "top_k", "max_tokens", "stop", "seed", "presence_penalty", "frequency_penalty", "n"}
)
"""Sampling settings, which some instrumentations record in part."""

NEVER_IN_SEMCONV = frozenset(
    {
        "tool_choice", "parallel_tool_calls", "tools[].strict", "response_format", "logit_bias", "user", "metadata",
        "store", "include", "service_tier", "reasoning_effort", "logprobs", "top_logprobs", "stream_options",
        "cache_control", "tool_result.is_error", "image.detail", "message.name", "extra_body",
        "additionalModelRequestFields", "num_ctx",
    }
)  # fmt: skip
"""Fields that the GenAI semantic conventions have no attribute for."""

TOOLS = "tools"
TOOL_TURNS = "tool turns"
"""Tool calls and their results in the history."""
