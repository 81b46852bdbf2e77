"""Reads interventions back from their JSON form."""

from collections.abc import Callable, Mapping
from typing import Any

from ...ingest.calls import Json
from ...ingest.errors import FormatError
from .edit import Intervention, Noop, Several
from .settings import EditTool, SetParameter, SwapModel
from .texts import Drop, InsertMessage, InsertRule, Replace, SystemPrompt

_EDITS: Mapping[str, Callable[..., Intervention]] = {
    "noop": Noop,
    "drop": Drop,
    "replace": Replace,
    "insert": InsertRule,
    "system": SystemPrompt,
    "message": InsertMessage,
    "tool": EditTool,
    "model": SwapModel,
    "parameter": SetParameter,
    "several": Several,
}


def intervention_from_json(value: Mapping[str, Any]) -> Intervention:
    """Reads what `to_json` wrote; FormatError for anything else."""
    if value.get("kind") not in _EDITS:
        raise FormatError(f"{value.get('kind')!r} is not an intervention", hint=f"kinds: {', '.join(_EDITS)}")
    try:
        return _EDITS[value["kind"]](**{k: _argument(v) for k, v in value.items() if k != "kind"})
    except TypeError as error:
        raise FormatError(f"the intervention {value['kind']!r} cannot be read: {error}") from error


def _argument(value: Json) -> Any:
    if isinstance(value, list):
        return tuple(_argument(v) for v in value)
    return intervention_from_json(value) if isinstance(value, dict) else value
