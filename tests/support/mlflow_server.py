"""An MLflow tracking server that holds what a test gives it: traces of one experiment, and their assessments."""

import base64
from typing import Any

from backend_server import Answer, Backend, Call


class MlflowServer(Backend):
    """Spans are given in the form of the REST API."""

    user = "someone"
    password = "secret"

    def __init__(self) -> None:
        super().__init__()
        self.traces: dict[str, list[dict[str, Any]]] = {}
        self.assessments: dict[str, dict[str, Any]] = {}
        self.page_limit: int | None = None
        self.loses_assessments = False

    def answer(self, call: Call) -> Answer:
        match call.path.strip("/").split("/"):
            case ["api", "2.0", "mlflow", "experiments", "search"]:
                return Answer(body={"experiments": [{"experiment_id": "0", "name": "Default"}]})
            case ["api", "3.0", "mlflow", "traces", "search"]:
                return self._search(call)
            case ["api", "3.0", "mlflow", "traces", "batchGet"]:
                ids = [id for id in call.query["trace_ids"] if id in self.traces]
                return Answer(body={"traces": [{"trace_info": self._info(id), "spans": self.traces[id]} for id in ids]})
            case ["api", "3.0", "mlflow", "traces", id, "assessments"] if id in self.traces:
                return self._assess(call)
            case ["api", "3.0", "mlflow", "traces", id, "assessments", key] if key in self.assessments:
                if call.method == "PATCH":
                    self.assessments[key] |= call.body["assessment"]
                return Answer(body={"assessment": self.assessments[key]})
            case ["api", "3.0", "mlflow", "traces", id] if id in self.traces:
                return Answer(body={"trace": {"trace_info": self._info(id)}})
        return Answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "not found"})

    def _search(self, call: Call) -> Answer:
        ids = list(self.traces)
        start = int(call.body.get("page_token") or 0)
        limit = min(call.body["max_results"], self.page_limit or 500)
        more = {"next_page_token": str(start + limit)} if start + limit < len(ids) else {}
        return Answer(body={"traces": [self._info(id) for id in ids[start : start + limit]], **more})

    def _info(self, id: str) -> dict[str, Any]:
        found = [a for a in self.assessments.values() if a["trace_id"] == id]
        return {
            "trace_id": id,
            "request_time": "2026-11-30T16:56:55.961Z",
            "state": "OK",
            "tags": {"service.name": "agent", "mlflow.artifactLocation": "x"},
            "trace_metadata": {"mlflow.trace.session": "s1"},
            "assessments": found,
        }

    def _assess(self, call: Call) -> Answer:
        sent = call.body["assessment"]
        moment = "2026-11-30T12:00:00.000Z"
        kept = {**sent, "create_time": moment, "last_update_time": moment, "valid": True}
        if sent["assessment_id"] in self.assessments:
            return Answer(500, {"error_code": "INTERNAL_ERROR", "message": "due to a constraint violation"})
        if not self.loses_assessments:
            self.assessments[sent["assessment_id"]] = kept
        return Answer(body={"assessment": kept})


def rest_span(trace_id: str, span_id: str, **attributes: str) -> dict[str, Any]:
    """Returns a span as MLflow's REST API does: ids in base64, no nulls."""
    return {
        "trace_id": base64.b64encode(bytes.fromhex(trace_id)).decode(),
        "span_id": base64.b64encode(bytes.fromhex(span_id)).decode(),
        "name": "call",
        "start_time_unix_nano": 1796057815961637848,
        "end_time_unix_nano": 1796057816282025252,
        "attributes": [{"key": k, "value": {"string_value": v}} for k, v in attributes.items()],
        "status": {"code": "STATUS_CODE_OK"},
    }
