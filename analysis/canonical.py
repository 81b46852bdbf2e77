"""The one text, and the one digest, that stand for a JSON value."""

import hashlib
import json

from ..ingest.calls import Json


def canonical_json(value: Json) -> str:
    """Returns a value's canonical JSON: keys sorted, no spaces, non-ASCII kept (in the spirit of RFC 8785)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Json) -> str:
    """Returns the SHA-256 of a value's canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def canonical_arguments(text: str) -> str:
    """Returns a tool call's argument string with its formatting normalised; text that is no JSON stays as it is."""
    try:
        return canonical_json(json.loads(text))
    except ValueError:
        return canonical_json(text)
