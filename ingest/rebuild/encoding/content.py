"""Pieces that several encoders share: argument values, data URIs, tool results as text."""

import json
from collections.abc import Sequence

from ...calls import Json
from ...dialects.dialogue import Media, Message, Part, Result, Structured, Text
from ...dialects.values import parse_json


def argument_text(arguments: Json) -> str:
    """Returns tool-call arguments as the string that OpenAI's APIs carry."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)


def argument_value(arguments: Json) -> Json:
    """Returns tool-call arguments as the object that the other APIs carry."""
    if arguments is None or arguments == "":
        return {}
    parsed = parse_json(arguments)
    return arguments if parsed is None else parsed


def data_uri(media: Media) -> str:
    """Returns a URL for the media, inline when its bytes were recorded."""
    return media.url or f"data:{media.mime or 'application/octet-stream'};base64,{media.data}"


def split_data_uri(media: Media) -> tuple[str, str] | None:
    """Returns (MIME type, base64) of inline media; None for media behind a URL."""
    if media.data:
        return media.mime, media.data
    head, comma, data = media.url.partition(",")
    if head.startswith("data:") and head.endswith(";base64") and comma:
        return head[5:-7], data
    return None


def plain_text(parts: Sequence[Part]) -> str | None:
    """Returns the text of a content that is exactly one text without marks, or empty; None otherwise."""
    if not parts:
        return ""
    only = parts[0]
    return only.text if len(parts) == 1 and isinstance(only, Text) and not only.marks else None


def result_text(result: Result) -> str:
    """Returns a tool's answer as the string that OpenAI's APIs carry; values are serialised compactly."""
    content = result.content
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Structured):
        return json.dumps(content.value, ensure_ascii=False, separators=(",", ":"))
    return "".join(part.text for part in content if isinstance(part, Text))


def system_and_rest(system: Sequence[Message], messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Returns the instructions, wherever they were kept, and the other messages."""
    is_system = [m.role in ("system", "developer") for m in messages]
    lead = next((i for i, flag in enumerate(is_system) if not flag), len(messages))
    return [*messages[:lead], *system], list(messages[lead:])
