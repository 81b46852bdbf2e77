"""What the user adds to recorded requests: tools, settings or a system prompt that no span holds.

Given on the command line it counts for that command; in the section `[overlays]` of a settings file it is remembered
for a service.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .calls import Api, Body, Completeness, Grade, Json, ModelCall
from .errors import ConfigError, UsageError
from .settings import nearest

_PARTS = ("tools", "params", "system")
_HOLDER: Mapping[Api, str] = {
    Api.GEMINI_GENERATE: "generationConfig",
    Api.BEDROCK_CONVERSE: "inferenceConfig",
    Api.OLLAMA_CHAT: "options",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Parts of a request in the provider's own form; None leaves that part as recorded."""

    tools: list[Json] | None = None
    params: Mapping[str, Json] | None = None
    system: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed."""
        return self.tools is None and self.params is None and self.system is None

    def apply(self, call: ModelCall) -> ModelCall:
        """Returns the call with the parts in place, their source on record, and what they fill no longer missing."""
        if self.is_empty:
            return call
        request = dict(call.request)
        filled: dict[str, str] = {}
        if self.tools is not None:
            request |= _with_tools(call.api, request, self.tools)
            filled["tools"] = "overlay --tools"
        for name, value in (self.params or {}).items():
            _put(request, call.api, name, value)
            filled[name] = "overlay --params"
        if self.system is not None:
            request |= _with_system(call.api, request, self.system)
            filled["system"] = "overlay --system"
        return replace(call, request=request, completeness=_completed(call.completeness, filled))


def _with_tools(api: Api, request: Body, tools: list[Json]) -> dict[str, Json]:
    if api is Api.BEDROCK_CONVERSE:
        return {"toolConfig": {**(request.get("toolConfig") or {}), "tools": tools}}
    return {"tools": tools}


def _put(request: dict[str, Json], api: Api, name: str, value: Json) -> None:
    holder = _HOLDER.get(api)
    # A name that is in the body, or is an object of its own, stands beside the settings.
    if holder is None or name in request or isinstance(value, dict):
        request[name] = value
    else:
        request[holder] = {**(request.get(holder) or {}), name: value}


def _with_system(api: Api, request: Body, system: str) -> dict[str, Json]:
    match api:
        case Api.OPENAI_RESPONSES:
            return {"instructions": system}
        case Api.ANTHROPIC_MESSAGES:
            return {"system": system}
        case Api.BEDROCK_CONVERSE:
            return {"system": [{"text": system}]}
        case Api.GEMINI_GENERATE:
            return {"systemInstruction": {"parts": [{"text": system}]}}
    messages = [m for m in request.get("messages") or () if m.get("role") not in ("system", "developer")]
    return {"messages": [{"role": "system", "content": system}, *messages]}


def _completed(completeness: Completeness, filled: Mapping[str, str]) -> Completeness:
    def is_filled(name: str) -> bool:
        return any(name == part or name.startswith((f"{part} ", f"{part}[")) for part in filled)

    missing = tuple(gap for gap in completeness.missing if not is_filled(gap.name))
    damage = [gap for gap in missing if gap.name.startswith(("messages", "image", "model", "tools (", "tools[] "))]
    # What was partial for want of the part is as good as its convention can be; nothing becomes exact by hand.
    is_whole = completeness.grade is Grade.PARTIAL and not damage
    return Completeness(
        grade=Grade.SEMANTIC if is_whole else completeness.grade,
        missing=missing,
        provenance={**completeness.provenance, **filled},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlays:
    """What is remembered for services, and what was given for this command, which wins."""

    given: Overlay = Overlay()
    by_service: Mapping[str, Overlay] = field(default_factory=dict)
    """`service.name` → overlay; `*` stands for every service without one of its own."""

    def apply(self, calls: Iterable[ModelCall]) -> list[ModelCall]:
        """Returns the calls with the parts in place."""
        nothing = self.by_service.get("*", Overlay())
        return [self.given.apply(self.by_service.get(call.service, nothing).apply(call)) for call in calls]


NO_OVERLAYS = Overlays()


def read_overlays(section: Mapping[str, Any], given: Overlay) -> Overlays:
    """Returns the overlays of `[overlays]`: for each service the files `tools`, `params` and `system`, any of them.

    Raises ConfigError for another key, UsageError for a file that cannot be read.
    """
    by_service = {}
    for service, files in section.items():
        if not isinstance(files, dict) or not all(isinstance(path, str) for path in files.values()):
            raise ConfigError(f"[overlays] {service!r} must be a table of files")
        for key in files:
            if key not in _PARTS:
                raise ConfigError(f"[overlays] {service!r}: unknown key {key!r}", hint=nearest(key, _PARTS))
        by_service[service] = read_overlay(**{key: Path(path) for key, path in files.items()})
    return Overlays(given=given, by_service=by_service)


def read_overlay(*, tools: Path | None = None, params: Path | None = None, system: Path | None = None) -> Overlay:
    """Returns the overlay in some files: a JSON array of tools, a JSON object of settings, a text.

    Raises UsageError for a file that cannot be read or does not hold that.
    """
    listed = _read_json(tools) if tools else None
    if listed is not None and not isinstance(listed, list):
        raise UsageError(f"{tools} must hold a JSON array of tool definitions")
    settings = _read_json(params) if params else None
    if settings is not None and not isinstance(settings, dict):
        raise UsageError(f"{params} must hold a JSON object of request parameters")
    return Overlay(tools=listed, params=settings, system=_read_text(system) if system else None)


def _read_json(path: Path) -> Json:
    try:
        return json.loads(_read_text(path))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
