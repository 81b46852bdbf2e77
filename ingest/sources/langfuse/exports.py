"""Files exported by Langfuse: a downloaded trace, tables from the UI, and the export to blob storage.

A downloaded trace is `{"trace": …, "observations": […]}` and names fields as the API does; tables and blob exports are
rows with names in snake_case or camelCase, and texts where the API has JSON. Exports have the tool definitions, which
the API withholds.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from ..exports import ExportSource, Row
from .observations import UPDATED_KEY, Observation, decode_observation, with_trace

_PARSED = ("modelParameters", "usageDetails", "costDetails", "tags", "toolDefinitions")
"""Fields that are JSON values and not texts."""


def export_source(paths: Sequence[str]) -> ExportSource:
    """Returns the source that reads exported files."""
    return ExportSource("langfuse", paths, read_observations, decode_observation, version_key=UPDATED_KEY)


def read_observations(rows: Iterable[Row]) -> Iterator[Observation]:
    """Yields the observations of a file's rows, in the form of the API."""
    for row in rows:
        trace = row.get("trace")
        if isinstance(trace, Mapping) and isinstance(row.get("observations"), list):
            yield from (_with_tools(o) for o in with_trace(row["observations"], trace))
        elif isinstance(row.get("observations"), list):
            yield from (_with_tools(o) for o in with_trace(row["observations"], row))
        else:
            yield _with_tools({_camel(key): _value(_camel(key), value) for key, value in row.items()})


def _camel(key: str) -> str:
    name = re.sub(r"_([a-z])", lambda match: match[1].upper(), key)
    return {"model": "providedModelName"}.get(name, name)


def _value(field: str, value: Any) -> Any:
    if field not in _PARSED or not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


def _with_tools(observation: Observation) -> Observation:
    """Returns the observation with its tool definitions where the GenAI conventions have them."""
    definitions = observation.get("toolDefinitions")
    if not isinstance(definitions, Mapping) or not definitions:
        return observation
    tools = [{"type": "function", "name": name, **_definition(raw)} for name, raw in definitions.items()]
    return {**observation, "exportedTools": json.dumps(tools, ensure_ascii=False)}


def _definition(raw: Any) -> Mapping[str, Any]:
    value = _value("toolDefinitions", raw)
    return {k: v for k, v in value.items() if k in ("description", "parameters")} if isinstance(value, Mapping) else {}
