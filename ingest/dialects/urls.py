"""What a request's URL says: the API by its path, and the server's base URL before that path."""

import re

from ..calls import Api

_PATHS = (
    (re.compile(r"/chat/completions$"), Api.OPENAI_CHAT),
    (re.compile(r"/responses$"), Api.OPENAI_RESPONSES),
    (re.compile(r"(/v1)?/messages$"), Api.ANTHROPIC_MESSAGES),
    (re.compile(r"(/v1(beta)?)?/[^:]*models/[^/:]+:(stream)?generatecontent$", re.IGNORECASE), Api.GEMINI_GENERATE),
    (re.compile(r"/model/[^/]+/converse(-stream)?$"), Api.BEDROCK_CONVERSE),
    (re.compile(r"/api/chat$"), Api.OLLAMA_CHAT),
)


def split_api_path(url: str) -> tuple[str, Api | None]:
    """Returns the base URL that a client is set up with, and the API; the URL itself and None for any other path."""
    plain = url.rstrip("/")
    for pattern, api in _PATHS:
        match = pattern.search(plain)
        if match:
            return plain[: match.start()], api
    return url, None
