"""Which model answers a replay, and with which key. A recorded context goes only where the user said it may go."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ingest.errors import UsageError
from .completion import Provider
from .providers.function import FunctionModel
from .providers.openai_chat import OpenAIChat

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Where replays go; exactly one of the two."""

    model_fn: str | Callable[[dict[str, Any]], Any] = ""
    """`FILE:FUNCTION`, or a function."""
    base_url: str = ""
    """An OpenAI-compatible endpoint."""

    def open(self) -> Provider:
        """Returns the provider, ready to be asked."""
        if callable(self.model_fn):
            name = getattr(self.model_fn, "__qualname__", type(self.model_fn).__name__)
            return FunctionModel(self.model_fn, endpoint=f"function:{self.model_fn.__module__}:{name}")
        if self.model_fn:
            return FunctionModel.load(self.model_fn)
        return OpenAIChat(self.base_url, api_key=os.environ.get(KEY_VARIABLE))


def choose_model(
    *,
    model_fn: str | Callable[[dict[str, Any]], Any] = "",
    base_url: str = "",
    environ: Mapping[str, str] | None = None,
) -> ModelChoice:
    """Returns where replays go: the function, the URL given, `OPENAI_BASE_URL`, or OpenAI when there is a key.

    Raises UsageError when nothing is configured: a recorded context is never sent to a host by guess.
    """
    env = os.environ if environ is None else environ
    if model_fn and base_url:
        raise UsageError("give either --model-fn or --base-url, not both")
    if model_fn:
        return ModelChoice(model_fn=model_fn)
    url = base_url or env.get("OPENAI_BASE_URL") or (OPENAI_URL if env.get(KEY_VARIABLE) else "")
    if not url:
        raise UsageError(
            "no model to replay with",
            hint=f"--base-url URL (any OpenAI-compatible server), --model-fn FILE:FUNCTION, or set {KEY_VARIABLE}",
        )
    return ModelChoice(base_url=url)
