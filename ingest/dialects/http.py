"""HTTP client spans under a model call: the URL tells the API and the server.

Source: https://opentelemetry.io/docs/specs/semconv/http/http-spans/, and the names before its version 1.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from ..spans import LogRecord, Span
from .partial import Found, PartialCall, Role, Trust
from .urls import split_api_path
from .values import first_text

NAME = "http"


def read(span: Span, logs: Sequence[LogRecord]) -> PartialCall | None:
    """Returns where an HTTP request went; None for spans that are none, and for model calls that name their URL."""
    attributes = span.attributes
    url = first_text(attributes, "url.full", "http.url")
    if not url or any(key.startswith(("gen_ai.", "llm.")) for key in attributes):
        return None
    parts = urlsplit(url)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    base, api = split_api_path(plain)
    return PartialCall(
        role=Role.TRANSPORT,
        api=Found(api, f"{NAME}:url.full", Trust.CONTEXT) if api else None,
        base_url=Found(base, f"{NAME}:url.full", Trust.CONTEXT),
    )
