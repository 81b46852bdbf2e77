"""Write-back to Phoenix: span annotations, always `sync=true`.

Without it Phoenix answers 200 for a span that it does not have, and keeps nothing. Source: Phoenix 20.26
`/openapi.json`: same span, name and identifier make it an upsert.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from ...ingest.remote import AnsweredError, Patience, Remote
from ...ingest.sources.phoenix import phoenix_account
from .delivery import JSON, Delivery, json_delivery
from .results import VERDICT_NAME, Result

_PATH = "/v1/span_annotations?sync=true"


class PhoenixTarget:
    """A Phoenix server."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._projects: list[str] | None = None

    @property
    def base_url(self) -> str:
        """Where it is."""
        return self._remote.base_url

    def deliveries(self, results: Sequence[Result]) -> list[Delivery]:
        """Returns two annotations a result."""
        return [
            json_delivery(id, _PATH, {"data": [annotation]})
            for result in results
            for id, annotation in _annotations(result)
        ]

    def send(self, delivery: Delivery) -> bool:
        """Sends an annotation."""
        self._remote.send(delivery.method, delivery.path, body=delivery.body, headers=JSON)
        return True

    def is_there(self, delivery: Delivery) -> bool:
        """Reads an annotation back, from whichever project has its span, and compares what it says."""
        (sent,) = orjson.loads(delivery.body)["data"]
        params: dict[str, str | int | list[str]] = {"span_ids": [sent["span_id"]], "limit": 1000}
        for project in self._all_projects():
            try:
                found = self._remote.get(f"/v1/projects/{project}/span_annotations", params)["data"]
            except AnsweredError as error:
                if error.status != 404:  # the span is in another project
                    raise
                continue
            if any(all(a.get(key) == sent[key] for key in ("name", "identifier", "result")) for a in found):
                return True
        return False

    def _all_projects(self) -> list[str]:
        if self._projects is None:
            self._projects = [p["name"] for p in self._remote.get("/v1/projects", {"limit": 1000})["data"]]
        return self._projects


def _annotations(result: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    about = {
        "span_id": result.span_id,
        "annotator_kind": "CODE",
        "identifier": result.claim_id,
        "metadata": dict(result.details),
    }
    said = {"label": result.verdict, "explanation": result.comment}
    for name, values in ((result.effect_name, {"score": result.effect}), (VERDICT_NAME, {"score": None})):
        yield result.id_of(name), {"name": name, "result": {**values, **said}, **about}


@contextmanager
def open_target(
    *, environ: Mapping[str, str] | None = None, patience: Patience | None = None, **_: Any
) -> Iterator[PhoenixTarget]:
    """Opens the server that `PHOENIX_COLLECTOR_ENDPOINT` names, by default the one on this machine."""
    with Remote(phoenix_account(environ=environ), patience=patience) as remote:
        yield PhoenixTarget(remote)
