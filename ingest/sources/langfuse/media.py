"""Images and recordings that Langfuse keeps apart: a token stands in the text where they were."""

import base64
import re
from collections.abc import Mapping
from typing import Any

from ...errors import UpstreamError
from ...remote import Remote
from .observations import Observation, as_text

KEPT = 16
"""Fetched files that are kept for the observations to come: a turn repeats those of the turns before it."""
_TOKEN = re.compile(r"@@@langfuseMedia:(?P<fields>[^@]+)@@@")


def with_media(observation: Observation, remote: Remote, known: dict[str, str]) -> Observation:
    """Returns the observation with data URIs in place of the tokens; one that cannot be fetched keeps its token.

    `known` is token id → data URI of the last few, and is added to.
    """
    changed = {
        field: _TOKEN.sub(lambda match: _data_uri(match, remote, known), text)
        for field in ("input", "output")
        if observation.get(field) is not None and "@@@langfuseMedia:" in (text := as_text(observation[field]))
    }
    return {**observation, **changed} if changed else observation


def _data_uri(match: re.Match[str], remote: Remote, known: dict[str, str]) -> str:
    fields = dict(part.partition("=")[::2] for part in match["fields"].split("|"))
    id = fields.get("id", "")
    if id not in known:
        if len(known) >= KEPT:
            del known[next(iter(known))]
        try:
            known[id] = _fetch(remote, id)
        except UpstreamError:
            # The dialect reports the token that stays as a gap, with the remedy.
            known[id] = match[0]
    return known[id]


def _fetch(remote: Remote, id: str) -> str:
    record: Mapping[str, Any] = remote.get(f"/api/public/media/{id}")
    data = base64.b64encode(remote.download(str(record["url"]))).decode("ascii")
    return f"data:{record['contentType']};base64,{data}"
