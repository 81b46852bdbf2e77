"""Files exported by Langfuse: a downloaded trace, tables from the UI, and the export to blob storage.

A downloaded trace is `{"trace": …, "observations": […]}` and names fields as the API does; tables are camelCase.
Blob exports are rows in snake_case, scores in files of their own: "" stands for nothing, and times are
`2026-11-30 12:00:00.123456` in UTC. CSV has JSON texts where the API has values; Parquet comes straight from
ClickHouse, with decimal numbers. Exports have the tool definitions, which the API withholds.

Source: langfuse.com/docs, "Blob storage export field reference"; langfuse/langfuse, worker/src/features/
database-read-stream/{event,observation}-stream.ts and packages/shared/src/domain/observation-field-groups.ts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson

from ...errors import FormatError
from ...spans import Span
from ..evaluations import Score
from ..exports import ExportSource, Row
from ..times import format_time, parse_time
from .observations import UPDATED_KEY, Observation, decode_observation, with_trace
from .scores import decode_score

_PARSED = frozenset((
    "modelParameters", "usageDetails", "costDetails", "tags", "toolDefinitions",
    "promptVersion", "totalCost", "bookmarked", "public", "isRootObservation", "value",
))  # fmt: skip
"""Fields that are JSON values and not texts."""
_TIMES = frozenset(("startTime", "endTime", "completionStartTime", "createdAt", "updatedAt", "timestamp"))
_NAMES = {"model": "providedModelName", "traceTags": "tags"}
"""Name in the table of a server before version 4 → name of the API."""


def export_source(paths: Sequence[str]) -> ExportSource:
    """Returns the source that reads exported files."""
    return ExportSource("langfuse", paths, read_items, decode_item, version_key=UPDATED_KEY)


def read_items(rows: Iterable[Row]) -> Iterator[Row]:
    """Yields the observations of a file's traces, and its other rows as they are."""
    for row in rows:
        if isinstance(row.get("observations"), list):
            trace = row.get("trace")
            yield from with_trace(row["observations"], trace if isinstance(trace, Mapping) else row)
        else:
            yield row


def decode_item(item: Row) -> Span | Score:
    """Returns the span of an observation, or the score.

    Raises KeyError, TypeError or FormatError when it is neither, or lacks its id or time.
    """
    named = {_api_name(column): value for column, value in item.items() if value not in ("", None)}
    known = {field: _value(field, value) for field, value in named.items()}
    if "dataType" in known:
        return decode_score(known)
    if "startTime" not in known:
        raise FormatError("neither an observation nor a score; traces alone hold no decision")
    return decode_observation(_with_tools(known))


def _api_name(column: str) -> str:
    name = re.sub(r"_([a-z])", lambda match: match[1].upper(), column)
    return _NAMES.get(name, name)


def _value(field: str, value: Any) -> Any:
    if field in _TIMES:
        text = format_time(parse_time(value.isoformat() if isinstance(value, datetime) else value))
        # As the API has it, to the millisecond: versions of one observation are compared as texts.
        return f"{text[:-4]}Z" if field == "updatedAt" else text
    if field in _PARSED and isinstance(value, str):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    return _plain(value)


def _plain(value: Any) -> Any:
    """Returns a value with numbers that JSON has in the place of decimal ones."""
    if isinstance(value, Decimal):
        return float(value)
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _with_tools(observation: Observation) -> Observation:
    """Returns the observation with its tool definitions where the GenAI conventions have them."""
    definitions = observation.get("toolDefinitions")
    if not isinstance(definitions, Mapping) or not definitions:
        return observation
    tools = [{"type": "function", "name": name, **_definition(raw)} for name, raw in definitions.items()]
    return {**observation, "exportedTools": orjson.dumps(tools).decode()}


def _definition(raw: Any) -> Mapping[str, Any]:
    value = _value("toolDefinitions", raw)
    return {k: v for k, v in value.items() if k in ("description", "parameters")} if isinstance(value, Mapping) else {}
