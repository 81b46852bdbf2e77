"""The one text, and the one digest, that stand for a JSON value."""

import hashlib
import json
from dataclasses import asdict

import orjson

from ..ingest.calls import Json


def canonical_json(value: Json) -> str:
    """Returns a value's canonical JSON: keys sorted, no spaces, non-ASCII kept (in the spirit of RFC 8785)."""
    return _canonical_bytes(value).decode("utf-8", "surrogatepass")


def digest(value: Json) -> str:
    """Returns the SHA-256 of a value's canonical JSON, 64 hex digits."""
    return hashlib.sha256(_canonical_bytes(value)).hexdigest()


def canonical_arguments(text: str) -> str:
    """Returns a tool call's argument string with its formatting normalised; text that is no JSON stays as it is."""
    try:
        return canonical_json(json.loads(text))
    except ValueError:
        return canonical_json(text)


def encode_json(value: Json) -> bytes:
    """Returns compact JSON in UTF-8 of a value, or of a dataclass; a lone surrogate, which UTF-8 lacks, is escaped."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=asdict).encode()


def _canonical_bytes(value: Json) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Lone surrogates and integers beyond 64 bits, which JSON may hold and orjson refuses.
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")
