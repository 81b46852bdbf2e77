"""Write-back to Langfuse: scores of the observation, which every version takes. Finished spans cannot be changed there.

Source: Langfuse's OpenAPI, `POST /api/public/scores`: `id` makes it an upsert.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import orjson

from ...ingest.remote import AnsweredError, Patience, Remote
from ...ingest.sources.langfuse.account import langfuse_account
from .delivery import JSON, Delivery, json_delivery
from .results import VERDICT_NAME, Result

_PATH = "/api/public/scores"


class LangfuseTarget:
    """One project."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @property
    def base_url(self) -> str:
        """Where it is."""
        return self._remote.base_url

    def deliveries(self, results: Sequence[Result]) -> list[Delivery]:
        """Returns two scores a result."""
        return [json_delivery(score["id"], _PATH, score) for result in results for score in _scores(result)]

    def send(self, delivery: Delivery) -> bool:
        """Sends a score."""
        self._remote.send(delivery.method, delivery.path, body=delivery.body, headers=JSON)
        return True

    def is_there(self, delivery: Delivery) -> bool:
        """Reads a score back and compares what it says."""
        sent = orjson.loads(delivery.body)
        found = self._find(delivery.id)
        if found is None:
            return False
        value = found.get("stringValue") if found.get("stringValue") is not None else found.get("value")
        return bool(value == sent["value"] and found.get("comment") == sent["comment"])

    def _find(self, id: str) -> Mapping[str, Any] | None:
        """Returns a score by its id: v3 of the API on newest servers, by path on the others."""
        for path, params in (
            ("/api/public/v3/scores", {"id": id, "fields": "details"}),
            (f"/api/public/v2/scores/{quote(id)}", {}),
            (f"{_PATH}/{quote(id)}", {}),
        ):
            try:
                found: Any = self._remote.get(path, params)
            except AnsweredError as error:
                if error.status not in (404, 405):
                    raise
                continue
            if "data" not in found:
                return found  # type: ignore[no-any-return]  # JSON
            return next((score for score in found["data"] if score["id"] == id), None)
        return None


def _scores(result: Result) -> Iterator[dict[str, Any]]:
    about = {
        "traceId": result.decision.get("langfuse.trace.id", result.trace_id),
        "observationId": result.decision.get("langfuse.observation.id", result.span_id),
        "comment": result.comment,
        "metadata": dict(result.details),
        "source": "API",
    }
    environment = result.decision.get("langfuse.environment")
    if environment:
        about["environment"] = environment
    values = ((result.effect_name, "NUMERIC", result.effect), (VERDICT_NAME, "CATEGORICAL", result.verdict))
    for name, data_type, value in values:
        yield {"id": result.id_of(name), "name": name, "dataType": data_type, "value": value, **about}


@contextmanager
def open_target(
    *,
    profile: str = "",
    environ: Mapping[str, str] | None = None,
    patience: Patience | None = None,
    **_: Any,
) -> Iterator[LangfuseTarget]:
    """Opens the project that `LANGFUSE_*` or a profile names."""
    with Remote(langfuse_account(profile, environ=environ), patience=patience) as remote:
        yield LangfuseTarget(remote)
