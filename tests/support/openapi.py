"""Checks requests and answers against an OpenAPI 3.0 file."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from backend_server import Answer, Call
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML


class OpenApi:
    """One API as its file describes it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._paths: Mapping[str, Any] = document["paths"]
        self._components = {"components": _as_json_schema(document["components"])}

    @classmethod
    @cache
    def load(cls, path: Path) -> "OpenApi":
        return cls(YAML(typ="safe", pure=True).load(path.read_text("utf-8")))

    def problems(self, call: Call, answer: Answer) -> Iterator[str]:
        """Yields what the file does not allow."""
        operation = self._operation(call)
        if operation is None:
            if answer.status not in (404, 405):
                yield f"{call.method} {call.path} is answered by {answer.status} and not in the file"
            return
        where = f"{call.method} {call.path}"
        known = {p["name"]: p for p in operation.get("parameters", ()) if p["in"] == "query"}
        yield from (f"{where}: unknown parameter {name}" for name in call.query if name not in known)
        yield from (
            f"{where}: {name} is missing" for name, p in known.items() if p["required"] and name not in call.query
        )
        if operation.get("deprecated") and "v4" in str(answer.headers):
            yield f"{where} is deprecated"
        if call.method == "POST":
            yield from self._check(where, operation["requestBody"]["content"], call.body)
        response = operation["responses"].get(str(answer.status))
        if response is None:
            yield f"{where}: {answer.status} is not in the file"
        elif answer.status == 200:
            yield from self._check(where, response["content"], answer.body)

    def _operation(self, call: Call) -> Any:
        for path, operations in self._paths.items():
            if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), call.path):
                return operations.get(call.method.lower())
        return None

    def _check(self, where: str, content: Mapping[str, Any], value: Any) -> Iterator[str]:
        schema = _as_json_schema(content["application/json"]["schema"])
        for error in Draft202012Validator({**self._components, **schema}).iter_errors(value):
            yield f"{where}: {error.json_path}: {error.message[:200]}"


def _as_json_schema(value: Any) -> Any:
    """Returns a schema with OpenAPI's `nullable` in the words of JSON Schema."""
    if isinstance(value, list):
        return [_as_json_schema(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    schema = {key: _as_json_schema(item) for key, item in value.items() if key not in ("nullable", "example")}
    return {"anyOf": [schema, {"type": "null"}]} if value.get("nullable") is True else schema
