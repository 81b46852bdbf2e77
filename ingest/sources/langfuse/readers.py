"""The two read APIs of Langfuse behind one interface.

Version 4 servers have only the v2 API: a list of observations with a cursor, no traces. Version 2 servers have only
the v1 API: traces by page number. Version 3 servers have v1, and v2 where it is switched on.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...remote import AnsweredError, Params, Remote
from ..times import format_time
from .metadata import cut_keys
from .observations import Observation, with_trace

_ABSENT = frozenset({400, 404, 405, 501})
"""Answers of a server that does not have an API, or not switched on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which observations; empty fields do not narrow."""

    start_ns: int | None = None
    end_ns: int | None = None
    trace_id: str = ""
    session_id: str = ""
    tags: tuple[str, ...] = ()
    name: str = ""
    environment: str = ""

    @property
    def is_selective(self) -> bool:
        """Whether it narrows by more than time, in ways that the score APIs do not have."""
        return bool(self.session_id or self.tags or self.name or self.environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Some items, and how to get the next ones; None at the end."""

    items: Sequence[Mapping[str, Any]]
    cursor: Any


class Reader(Protocol):
    """One of the read APIs."""

    def observations(self, query: Query, cursor: Any) -> Items:
        """Returns observations in v2 form; a cursor of None asks for the first."""

    def scores(self, query: Query, cursor: Any) -> Items:
        """Returns a page of scores in the window of the query, or of its trace."""


def choose_reader(remote: Remote) -> Reader:
    """Returns the reader for the server's version.

    Raises UpstreamError when the server cannot be reached or is no Langfuse.
    """
    version = str(remote.get("/api/public/health").get("version", ""))
    major = int(version.partition(".")[0]) if version.partition(".")[0].isdecimal() else 4
    if major >= 4 or (major == 3 and _has_v2(remote)):
        return V2Reader(remote)
    return V1Reader(remote, major)


def _has_v2(remote: Remote) -> bool:
    try:
        remote.get("/api/public/v2/observations", {"limit": 1, "fields": "core"})
    except AnsweredError as error:
        if error.status in _ABSENT:
            return False
        raise
    return True


class V2Reader:
    """Observations with a cursor: the server goes backwards in time, so what arrives meanwhile moves nothing."""

    FIELDS = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context"
    LIMIT = 500
    """Of at most 1000: observations with content are large."""
    KEYS_LENGTH = 4000
    """Characters of metadata keys in one URL; servers refuse URLs of more than some 8,000."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._expanded = ["attributes", "resourceAttributes", "scope"]

    def observations(self, query: Query, cursor: Any) -> Items:
        """Returns up to 500 observations with their whole metadata."""
        chunks = list(_chunked(self._expanded, self.KEYS_LENGTH))
        body = self._page(query, cursor, self.FIELDS, chunks[0])
        items = [dict(item) for item in body["data"]]
        for keys in chunks[1:]:
            self._expand(items, query, cursor, keys)
        while cut := cut_keys(items, self._expanded):
            for keys in _chunked(cut, self.KEYS_LENGTH):
                self._expand(items, query, cursor, keys)
            self._expanded += cut
        return Items(items=items, cursor=body["meta"].get("cursor"))

    def _expand(self, items: Sequence[dict[str, Any]], query: Query, cursor: Any, keys: Sequence[str]) -> None:
        whole = {item["id"]: item.get("metadata") for item in self._page(query, cursor, "core,metadata", keys)["data"]}
        for item in items:
            found = whole.get(item["id"])
            if isinstance(item.get("metadata"), dict) and isinstance(found, dict):
                item["metadata"] |= {key: found[key] for key in keys if key in found}

    def _page(self, query: Query, cursor: Any, fields: str, keys: Sequence[str]) -> Any:
        params: dict[str, str | int | list[str]] = {"fields": fields, "limit": self.LIMIT}
        if keys:
            params["expandMetadata"] = ",".join(keys)
        if cursor:
            params["cursor"] = cursor
        if filters := list(_filters(query)):
            params["filter"] = json.dumps(filters)
        return self._remote.get("/api/public/v2/observations", params)

    def scores(self, query: Query, cursor: Any) -> Items:
        """Returns up to 100 scores."""
        params: dict[str, str | int | list[str]] = {"limit": 100, "fields": "details,subject,annotation"}
        params |= _score_window(query)
        if cursor:
            params["cursor"] = cursor
        try:
            body = self._remote.get("/api/public/v3/scores", params)
        except AnsweredError as error:
            if error.status not in _ABSENT or cursor:
                raise
            return _numbered_page(self._remote, "/api/public/v2/scores", _score_window(query), cursor)
        return Items(items=body["data"], cursor=body["meta"].get("cursor"))


def _chunked(keys: Sequence[str], length: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    for key in keys:
        if chunk and sum(map(len, chunk)) + len(chunk) + len(key) > length:
            yield chunk
            chunk = []
        chunk.append(key)
    yield chunk


def _filters(query: Query) -> Iterator[dict[str, Any]]:
    """Yields the conditions; one list for all, because `filter` overrides the other parameters."""
    if query.start_ns is not None:
        yield _condition("datetime", "startTime", ">=", format_time(query.start_ns))
    if query.end_ns is not None:
        yield _condition("datetime", "startTime", "<", format_time(query.end_ns))
    texts = {"traceId": query.trace_id, "sessionId": query.session_id, "traceName": query.name}
    for column, text in {**texts, "environment": query.environment}.items():
        if text:
            yield _condition("string", column, "=", text)
    if query.tags:
        yield _condition("arrayOptions", "tags", "any of", list(query.tags))


def _condition(kind: str, column: str, operator: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "column": column, "operator": operator, "value": value}


def _score_window(query: Query) -> dict[str, str]:
    window = {"fromTimestamp": query.start_ns, "toTimestamp": query.end_ns}
    times = {name: format_time(value) for name, value in window.items() if value is not None}
    return {"traceId": query.trace_id} if query.trace_id else times


class V1Reader:
    """Traces by page number, oldest first, and each trace with its observations."""

    LIMIT = 50

    def __init__(self, remote: Remote, major: int) -> None:
        self._remote = remote
        self._scores = "/api/public/v2/scores" if major >= 3 else "/api/public/scores"
        self._is_filtering_scores = major >= 3

    def observations(self, query: Query, cursor: Any) -> Items:
        """Returns the observations of up to 50 traces; one deleted meanwhile is left out."""
        if query.trace_id:
            return Items(items=self._trace(query.trace_id), cursor=None)
        page = _numbered_page(self._remote, "/api/public/traces", _trace_params(query, self.LIMIT), cursor)
        return Items(items=[o for trace in page.items for o in self._trace(str(trace["id"]))], cursor=page.cursor)

    def _trace(self, id: str) -> list[Observation]:
        try:
            trace = self._remote.get(f"/api/public/traces/{id}")
        except AnsweredError as error:
            if error.status == 404:
                return []
            raise
        return list(with_trace(trace.get("observations") or (), trace))

    def scores(self, query: Query, cursor: Any) -> Items:
        """Returns up to 50 scores; of one trace where the server cannot select them, those among all."""
        window = _score_window(query)
        wanted = window.pop("traceId", "") if not self._is_filtering_scores else ""
        page = _numbered_page(self._remote, self._scores, window, cursor)
        items = [score for score in page.items if not wanted or score.get("traceId") == wanted]
        return Items(items=items, cursor=page.cursor)


def _trace_params(query: Query, limit: int) -> dict[str, str | int | list[str]]:
    params: dict[str, str | int | list[str]] = {"orderBy": "timestamp.asc", "limit": limit}
    times = {"fromTimestamp": query.start_ns, "toTimestamp": query.end_ns}
    params |= {name: format_time(value) for name, value in times.items() if value is not None}
    texts = {"sessionId": query.session_id, "name": query.name, "environment": query.environment}
    params |= {name: text for name, text in texts.items() if text}
    return {**params, "tags": list(query.tags)} if query.tags else params


def _numbered_page(remote: Remote, path: str, params: Params, cursor: Any) -> Items:
    """Returns a page by number. When items were deleted since the last one, the others have moved up: it goes back."""
    number, total = (cursor["page"], cursor["total"]) if cursor else (1, 0)
    body = remote.get(path, {"limit": 50, **params, "page": number})
    meta = body["meta"]
    now, pages = int(meta["totalItems"]), int(meta["totalPages"])
    if now < total and number > 1:
        back = max(1, number - math.ceil((total - now) / int(meta["limit"])))
        body = remote.get(path, {"limit": 50, **params, "page": back})
        number = back
    following = {"page": number + 1, "total": now} if number < pages and body["data"] else None
    return Items(items=body["data"], cursor=following)
