"""Which HTTP requests go to a model: a known or configured host, and a path of a known API."""

import os
from collections.abc import Iterable
from urllib.parse import urlsplit

_HOSTS = (
    "api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "api.mistral.ai", "api.groq.com",
    "api.deepseek.com", "api.together.xyz", "api.together.ai", "api.fireworks.ai", "api.cerebras.ai", "api.x.ai",
    "openrouter.ai", "api.perplexity.ai", "router.huggingface.co", "localhost:11434", "127.0.0.1:11434",
)  # fmt: skip
_SUFFIXES = (".openai.azure.com", ".services.ai.azure.com", "aiplatform.googleapis.com", ".amazonaws.com")
_PATHS = (
    "/chat/completions", "/responses", "/v1/messages", ":generatecontent", ":streamgeneratecontent", "/converse",
    "/converse-stream", "/api/chat",
)  # fmt: skip
_URLS = (
    "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST",
    "AZURE_OPENAI_ENDPOINT", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
)  # fmt: skip
"""Variables by which client libraries are pointed at another server."""


class Endpoints:
    """The hosts that requests are recorded of."""

    def __init__(self, hosts: Iterable[str]) -> None:
        listed = os.environ.get("WHYSPAN_MODEL_HOSTS", "").split(",")
        pointed = [os.environ.get(name, "") for name in _URLS]
        named = [_host(text) for text in (*hosts, *listed, *pointed) if text.strip()]
        self._hosts = frozenset((*_HOSTS, *named))

    def is_model_call(self, method: str, url: str) -> bool:
        """Tells whether a request asks a model; everything else that the agent sends is none of our business."""
        if method.upper() != "POST":
            return False
        parts = urlsplit(url)
        if not parts.path.lower().rstrip("/").endswith(_PATHS):
            return False
        host = parts.netloc.rpartition("@")[2].lower()
        name = (parts.hostname or "").lower()
        return host in self._hosts or name in self._hosts or name.endswith(_SUFFIXES)


def _host(text: str) -> str:
    """Returns the host of a URL or of a plain `host[:port]`."""
    text = text.strip().lower()
    return urlsplit(text if "//" in text else f"//{text}").netloc.rpartition("@")[2]


def public_url(url: str) -> str:
    """Returns a URL without user, query and fragment: they may hold a key."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
