"""A Langfuse server, version 2 or 4, that holds what a test gives it. Its answers follow Langfuse's OpenAPI files."""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from backend_server import Answer, Backend, Call

_GROUPS = {
    "core": "id traceId startTime endTime projectId parentObservationId type",
    "basic": "name level statusMessage version environment bookmarked public userId sessionId isRootObservation",
    "time": "completionStartTime createdAt updatedAt",
    "io": "input output",
    "metadata": "metadata",
    "model": "providedModelName internalModelId modelParameters modelId inputPrice outputPrice totalPrice",
    "usage": "usageDetails costDetails totalCost usagePricingTierName",
    "prompt": "promptId promptName promptVersion",
    "metrics": "latency timeToFirstToken",
    "trace_context": "tags release traceName",
}
_OF_V1 = (
    "modelId inputPrice outputPrice totalPrice calculatedInputCost calculatedOutputCost calculatedTotalCost "
    "completionStartTime statusMessage version promptId unit"
)
_CUT = 200


class LangfuseServer(Backend):
    """Observations are given in v2 form, with the fields of their trace on each; the v1 API is made out of them."""

    user = "pk-lf-test"
    password = "sk-lf-test"

    def __init__(self, version: str = "4.16.0", *, observations: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.version = version
        self.observations = [dict(o) for o in observations]
        self.scores: dict[str, dict[str, Any]] = {}
        self.media: dict[str, tuple[str, bytes]] = {}
        self.page_limit: int | None = None
        """Serve smaller pages than asked for."""
        self.loses_scores = False

    @property
    def has_v2(self) -> bool:
        return int(self.version.partition(".")[0]) >= 4

    def _is_allowed(self, call: Call) -> bool:
        return "/signed/" in call.path or super()._is_allowed(call)

    def answer(self, call: Call) -> Answer:
        path = call.path.removeprefix("/api/public")
        name = path.strip("/").partition("/")[0]
        if call.method == "POST":
            return self._add_score(call) if path == "/scores" else Answer(404, {"message": "Not found"})
        if name == "health":
            return Answer(body={"status": "OK", "version": self.version})
        if name == "projects":
            owner = {"id": "org1", "name": "test"}
            return Answer(body={"data": [{"id": "proj1", "name": "test", "metadata": {}, "organization": owner}]})
        if name == "media":
            return self._media(path)
        if name == "signed":
            return Answer(body=self.media[path.rpartition("/")[2]][1])
        if self.has_v2:
            return self._v2(call, path)
        return self._v1(call, path)

    def _v2(self, call: Call, path: str) -> Answer:
        if path == "/v2/observations":
            return self._observations(call)
        if path == "/v3/scores":
            return self._v3_scores(call)
        return Answer(404, {"message": "not available on this version"})

    def _observations(self, call: Call) -> Answer:
        filters = json.loads(call.one("filter", "[]"))
        found = [o for o in self.observations if all(_matches(o, f) for f in filters)]
        found.sort(key=lambda o: (o["startTime"], o["id"]), reverse=True)
        if cursor := call.one("cursor"):
            try:
                start, id = json.loads(base64.b64decode(cursor))
            except ValueError:
                return Answer(400, {"message": "Invalid cursor"})
            found = [o for o in found if (o["startTime"], o["id"]) < (start, id)]
        limit = min(int(call.one("limit", "50")), self.page_limit or 1000)
        page = found[:limit]
        groups = call.one("fields", "core,basic").split(",")
        expanded = set(call.one("expandMetadata").split(","))
        data = [projected(o, groups, expanded) for o in page]
        meta = {}
        if len(found) > limit:
            last = [page[-1]["startTime"], page[-1]["id"]]
            meta["cursor"] = base64.b64encode(json.dumps(last).encode()).decode()
        return Answer(body={"data": data, "meta": meta})

    def _v3_scores(self, call: Call) -> Answer:
        found = [s for s in self._selected_scores(call) if s["id"] > call.one("cursor")]
        found = [s for s in found if call.one("id", s["id"]) == s["id"]]
        limit = min(int(call.one("limit", "50")), self.page_limit or 100)
        data = [_score_v3(s) for s in found[:limit]]
        more = {"cursor": data[-1]["id"]} if len(found) > limit else {}
        return Answer(body={"data": data, "meta": {"limit": limit, **more}})

    def _selected_scores(self, call: Call) -> list[dict[str, Any]]:
        low, high, trace = call.one("fromTimestamp"), call.one("toTimestamp", "9"), call.one("traceId")
        found = [s for s in self.scores.values() if low <= s["timestamp"] < high]
        return sorted((s for s in found if not trace or s.get("traceId") == trace), key=lambda s: s["id"])

    def _v1(self, call: Call, path: str) -> Answer:
        traces = self.traces()
        if path == "/traces":
            chosen = [t for t in traces.values() if _is_in_window(t, call) and _has_tags(t, call)]
            for name in ("name", "sessionId"):
                chosen = [t for t in chosen if not call.one(name) or t[name] == call.one(name)]
            return self._numbered(call, [{**t, "observations": [o["id"] for o in t["observations"]]} for t in chosen])
        if path.startswith("/traces/"):
            trace = traces.get(path.rpartition("/")[2])
            return Answer(body=trace) if trace else Answer(404, {"message": "Trace not found", "error": "NotFound"})
        of_scores = "/scores" if self.version.startswith("2.") else "/v2/scores"
        if path == of_scores:
            return self._numbered(call, [_score_v1(s) for s in self._selected_scores(call)])
        if path.startswith(f"{of_scores}/") and (score := self.scores.get(path.rpartition("/")[2])):
            return Answer(body=_score_v1(score))
        return Answer(404, {"message": "Not found"})

    def traces(self) -> dict[str, dict[str, Any]]:
        traces: dict[str, dict[str, Any]] = {}
        for observation in sorted(self.observations, key=lambda o: str(o["startTime"])):
            trace = traces.setdefault(observation["traceId"], _trace_v1(observation))
            trace["observations"].append(_observation_v1(observation))
        return traces

    def _numbered(self, call: Call, items: list[dict[str, Any]]) -> Answer:
        page, limit = int(call.one("page", "1")), int(call.one("limit", "50"))
        if limit > 100:
            return Answer(400, {"message": "Invalid request data"})
        limit = min(limit, self.page_limit or limit)
        pages = -(-len(items) // limit)
        meta = {"page": page, "limit": limit, "totalItems": len(items), "totalPages": pages}
        return Answer(body={"data": items[(page - 1) * limit : page * limit], "meta": meta})

    def _media(self, path: str) -> Answer:
        id = path.rpartition("/")[2]
        if id not in self.media:
            return Answer(404, {"message": "Media not found"})
        kind, data = self.media[id]
        moment = "2026-11-01T10:00:00.000Z"
        record = {"mediaId": id, "contentType": kind, "contentLength": len(data), "uploadedAt": moment}
        return Answer(body={**record, "url": f"{self.url}/api/public/signed/{id}", "urlExpiry": moment})

    def _add_score(self, call: Call) -> Answer:
        moment = "2026-11-30T12:00:00.000Z"
        known = {"environment": "default", "source": "API", "projectId": "proj1", "timestamp": moment}
        score = {**known, "createdAt": moment, "updatedAt": moment, **call.body}
        if not self.loses_scores:
            self.scores[score["id"]] = score
        return Answer(body={"id": score["id"]})


def _matches(observation: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    value, wanted = observation.get(condition["column"]), condition["value"]
    match condition["operator"]:
        case "=":
            return bool(value == wanted)
        case ">=":
            return str(value) >= str(wanted)
        case "<":
            return str(value) < str(wanted)
        case "any of":
            return bool(set(value or ()) & set(wanted))
    raise AssertionError(f"unknown operator in {condition}")


def projected(observation: Mapping[str, Any], groups: Iterable[str], expanded: set[str]) -> dict[str, Any]:
    """Returns the fields that were asked for, and of the metadata what was not asked for in full cut."""
    chosen = {field: observation.get(field) for group in ("core", *groups) for field in _GROUPS[group].split()}
    metadata = chosen.get("metadata")
    if isinstance(metadata, dict):
        chosen["metadata"] = {k: v if k in expanded else _cut(v) for k, v in metadata.items()}
    return chosen


def _cut(value: Any) -> Any:
    return value[:_CUT] if isinstance(value, str) else value


def _score_v3(score: Mapping[str, Any]) -> dict[str, Any]:
    observation = score.get("observationId")
    subject = {"kind": "observation", "id": observation, "traceId": score.get("traceId")}
    if not observation:
        subject = {"kind": "trace", "id": score.get("traceId")}
    if score.get("sessionId"):
        subject = {"kind": "session", "id": score["sessionId"]}
    dropped = ("traceId", "observationId", "sessionId")
    return {"metadata": None, **{k: v for k, v in score.items() if k not in dropped}, "subject": subject}


def _score_v1(score: Mapping[str, Any]) -> dict[str, Any]:
    known = {"observationId": None, "authorUserId": None, "configId": None, "queueId": None, "comment": None}
    value, label = score["value"], None
    if isinstance(value, str):
        value, label = 0, value
    of_trace: dict[str, Any] = {"userId": None, "tags": [], "environment": "default"}
    return {"metadata": {}, **known, **score, "value": value, "stringValue": label, "trace": of_trace}


def _is_in_window(trace: Mapping[str, Any], call: Call) -> bool:
    return call.one("fromTimestamp") <= str(trace["timestamp"]) < call.one("toTimestamp", "9")


def _has_tags(trace: Mapping[str, Any], call: Call) -> bool:
    return set(call.query.get("tags", [])) <= set(trace["tags"])


def _trace_v1(observation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": observation["traceId"],
        "timestamp": observation["startTime"],
        "name": observation.get("traceName"),
        "userId": observation.get("userId"),
        "sessionId": observation.get("sessionId"),
        "environment": observation.get("environment"),
        "release": observation.get("release"),
        "version": None,
        "tags": observation.get("tags") or [],
        "public": False,
        "input": {"question": "of the trace"},
        "output": None,
        "metadata": None,
        "htmlPath": f"/project/proj1/traces/{observation['traceId']}",
        "projectId": "proj1",
        "latency": 1.0,
        "totalCost": 0.0,
        "observations": [],
        "scores": [],
    }


def _observation_v1(observation: Mapping[str, Any]) -> dict[str, Any]:
    usage = observation.get("usageDetails") or {}
    dropped = ("providedModelName", "usageDetails", "costDetails", "totalCost", "traceName", "tags", "release")
    nothing = dict.fromkeys((*_OF_V1.split(), *_GROUPS["prompt"].split(), *_GROUPS["metrics"].split()))
    kept = {k: v for k, v in observation.items() if k not in dropped and k not in ("userId", "sessionId")}
    counts = {key: usage.get(key, 0) for key in ("input", "output", "total")}
    return {
        **nothing,
        **kept,
        "usageDetails": usage,
        "costDetails": {},
        "model": observation.get("providedModelName"),
        "input": _parsed(observation.get("input")),
        "output": _parsed(observation.get("output")),
        "usage": {"unit": "TOKENS", **counts},
        "promptTokens": counts["input"],
        "completionTokens": counts["output"],
        "totalTokens": counts["total"],
    }


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
