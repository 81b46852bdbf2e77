"""The importer: observations become spans, scores become evaluation events."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from ...remote import Patience, Remote
from ..reading import read_each, read_scores
from ..source import Batch, Position, Selection
from ..times import parse_time
from ..windows import Page, Step, Walk, import_key
from .account import langfuse_account
from .media import with_media
from .observations import UPDATED_KEY, Observation, decode_observation, is_finished
from .readers import Query, Reader, choose_reader
from .scores import decode_score

PATIENCE_NS = 3600 * 10**9
"""An observation without an end is waited for this long, then taken as it is: its process has died."""


class LangfuseSource:
    """One project of a Langfuse server."""

    def __init__(
        self, remote: Remote, selection: Selection, *, media: bool = False, now: Callable[[], int] = time.time_ns
    ) -> None:
        self._remote = remote
        self._selection = selection
        self._now = now
        self._media: dict[str, str] | None = {} if media else None
        self._reader: Reader = choose_reader(remote)
        self._project = project_of(remote)
        self._seen: set[str] = set()
        """Traces of a selection that the scores cannot be asked for by."""

    @property
    def key(self) -> str:
        """Server, project and selection."""
        return import_key(f"langfuse {self._remote.base_url} {self._project}", self._selection)

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yields observations, then scores; a page each."""
        walk = Walk.begin(position, self._selection, now_ns=self._now())
        queries = list(self._queries(walk))
        if queries[0].is_selective:
            walk.restart()  # which scores belong to the selection is known only after reading its observations
        steps: dict[str, Step] = {f"observations {q.trace_id}": partial(self._observations, q) for q in queries}
        steps |= {f"scores {q.trace_id}": partial(self._scores, q) for q in queries}
        yield from walk.run(steps, version_key=UPDATED_KEY)

    def _queries(self, walk: Walk) -> Iterator[Query]:
        chosen = self._selection
        if chosen.trace_ids:
            yield from (Query(trace_id=id) for id in chosen.trace_ids)
            return
        yield Query(
            start_ns=walk.window.start,
            end_ns=walk.window.end,
            session_id=chosen.session_id,
            tags=chosen.tags,
            name=chosen.name,
            environment=chosen.environment,
        )

    def _observations(self, query: Query, cursor: Any) -> Page:
        page = self._reader.observations(query, cursor)
        if query.is_selective:
            self._seen |= {str(raw.get("traceId")) for raw in page.items}
        ready = [raw for raw in page.items if not self._must_wait(raw)]
        waiting = [parse_time(raw["startTime"]) for raw in page.items if self._must_wait(raw)]
        spans, rejects = read_each("observation", ready, lambda raw: decode_observation(self._with_media(raw)))
        return Page(
            spans=tuple(spans), rejects=tuple(rejects), cursor=page.cursor, waiting_ns=min(waiting, default=None)
        )

    def _must_wait(self, raw: Observation) -> bool:
        if is_finished(raw) or not raw.get("startTime"):
            return False
        return self._now() - parse_time(raw["startTime"]) < PATIENCE_NS

    def _with_media(self, raw: Observation) -> Observation:
        return raw if self._media is None else with_media(raw, self._remote, self._media)

    def _scores(self, query: Query, cursor: Any) -> Page:
        page = self._reader.scores(query, cursor)
        chosen = [raw for raw in page.items if not query.is_selective or self._is_about_selection(raw)]
        logs, rejects = read_scores(chosen, decode_score)
        return Page(logs=logs, rejects=tuple(rejects), cursor=page.cursor)

    def _is_about_selection(self, raw: Mapping[str, Any]) -> bool:
        subject = raw.get("subject")
        about = subject if isinstance(subject, Mapping) else raw
        ids = {about.get("traceId"), about.get("id") if about is subject else None}
        return bool(ids & self._seen) or self._selection.session_id in {about.get("id"), about.get("sessionId")}


def project_of(remote: Remote) -> str:
    """Returns the id of the project that the keys belong to, empty when the server does not say.

    Raises ConfigError when the server refuses the keys.
    """
    data = remote.get("/api/public/projects").get("data") or ()
    return str(data[0]["id"]) if data else ""


@contextmanager
def open_source(
    selection: Selection,
    *,
    profile: str = "",
    media: bool = False,
    environ: Mapping[str, str] | None = None,
    patience: Patience | None = None,
) -> Iterator[LangfuseSource]:
    """Opens the project that `LANGFUSE_*` or a profile names.

    Raises ConfigError for missing or refused keys, UpstreamError when the server cannot be reached.
    """
    with Remote(langfuse_account(profile, environ=environ), patience=patience) as remote:
        yield LangfuseSource(remote, selection, media=media)
