"""Write-back to MLflow: feedback of the source CODE on the decision's span.

Source: MLflow 3.17, `store/tracking/rest_store.py`, and a server: it takes ids of our own, and answers 500 when one
exists already, so that is looked up first and updated.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from ...ingest.remote import AnsweredError, Patience, Remote
from ...ingest.sources.mlflow import mlflow_account, mlflow_trace_id
from .delivery import JSON, Delivery, json_delivery
from .results import VERDICT_NAME, Result

_API = "/api/3.0/mlflow/traces"
_UPDATED = ("feedback", "rationale", "metadata")


class MlflowTarget:
    """An MLflow tracking server."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @property
    def base_url(self) -> str:
        """Where it is."""
        return self._remote.base_url

    def deliveries(self, results: Sequence[Result]) -> list[Delivery]:
        """Returns two pieces of feedback a result."""
        return [
            json_delivery(a["assessment_id"], f"{_API}/{a['trace_id']}/assessments", {"assessment": a})
            for result in results
            for a in _assessments(result)
        ]

    def send(self, delivery: Delivery) -> bool:
        """Creates the feedback, or updates it when it is there."""
        if self._find(delivery) is None:
            self._remote.send(delivery.method, delivery.path, body=delivery.body, headers=JSON)
        else:
            body = {**orjson.loads(delivery.body), "update_mask": ",".join(_UPDATED)}
            self._remote.send("PATCH", f"{delivery.path}/{delivery.id}", body=orjson.dumps(body), headers=JSON)
        return True

    def is_there(self, delivery: Delivery) -> bool:
        """Reads the feedback back and compares what it says."""
        sent = orjson.loads(delivery.body)["assessment"]
        found = self._find(delivery)
        return found is not None and all(found.get(key) == sent[key] for key in ("assessment_name", *_UPDATED))

    def _find(self, delivery: Delivery) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = self._remote.get(f"{delivery.path}/{delivery.id}")["assessment"]
        except AnsweredError as error:
            if error.status != 404:
                raise
            return None
        return found


def _assessments(result: Result) -> Iterator[dict[str, Any]]:
    about = {
        "trace_id": mlflow_trace_id(result.trace_id),
        "span_id": result.span_id,
        "source": {"source_type": "CODE", "source_id": "whyspan"},
        "rationale": result.comment,
        "metadata": {key: str(value) for key, value in result.details.items()},
    }
    for name, value in ((result.effect_name, result.effect), (VERDICT_NAME, result.verdict)):
        feedback = {"feedback": {"value": value}}
        yield {"assessment_id": f"a-{result.id_of(name)}", "assessment_name": name, **feedback, **about}


@contextmanager
def open_target(
    *, environ: Mapping[str, str] | None = None, patience: Patience | None = None, **_: Any
) -> Iterator[MlflowTarget]:
    """Opens the server that `MLFLOW_TRACKING_URI` names."""
    with Remote(mlflow_account(environ=environ), patience=patience) as remote:
        yield MlflowTarget(remote)
