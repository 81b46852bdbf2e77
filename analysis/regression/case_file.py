"""The frozen case on disk, `cases/NAME.case.json` beside the tests that use it, and what was verified about it."""

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ...ingest.calls import Body, Json
from ...ingest.errors import FormatError, NotFoundError
from ..cases import Case

SCHEMA_VERSION = 1
SUFFIX = ".case.json"
KEPT_VERIFICATIONS = 8
"""Per assertion; older ones make way, so that a file that is refreshed for years stays small."""
_CONVERSATION = frozenset({"messages", "system", "input", "instructions", "contents", "systemInstruction"})
"""Where the APIs keep the conversation; every other field is a setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A request that an assertion was found to hold for, by replays."""

    assertion: str
    """For example `never calls forward_email`."""
    max_rate: float
    """It was shown to hold at this rate; that shows it for larger ones too."""
    request: str
    """SHA-256 of the request's canonical JSON."""
    system: str
    """The system prompt of that request, to show what changed once the request differs."""
    settings: Json
    """Model, tools and parameters of that request where they are not those of the case, else None."""
    hits: int
    """Replies that violated the assertion."""
    draws: int
    model: str
    """Where the replies came from."""
    verified_at: str
    """ISO 8601, UTC."""
    verified_with: str
    """Version of whyspan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """A case with what is known about it."""

    case: Case
    verified: tuple[Verified, ...] = ()
    """Oldest first."""
    claims: tuple[Mapping[str, Json], ...] = ()
    """The claims that led to the test, as `Claim.to_json` gives them."""
    created_with: str = ""
    created_at: str = ""
    """ISO 8601, UTC."""
    redacted: Mapping[str, int] = field(default_factory=dict)
    """Rule → how often it replaced something of the recorded request."""
    tests: Mapping[str, str] = field(default_factory=dict)
    """Test file → SHA-256 of its text as it was written, to tell whether somebody has edited it since."""

    def with_verified(self, new: Verified) -> "CaseFile":
        """Returns the content with one more verification, which replaces an older one of the same request."""
        rest = [v for v in self.verified if (v.assertion, v.request) != (new.assertion, new.request)]
        same = [v for v in rest if v.assertion == new.assertion][-(KEPT_VERIFICATIONS - 1) :]
        kept = [v for v in rest if v.assertion != new.assertion or v in same]
        return replace(self, verified=(*kept, new))

    def without_verified(self, assertion: str, request: str) -> "CaseFile":
        """Returns the content without what was verified for this request, because it no longer holds."""
        kept = (v for v in self.verified if (v.assertion, v.request) != (assertion, request))
        return replace(self, verified=tuple(kept))


def settings_of(request: Body) -> dict[str, Json]:
    """Returns what a request holds besides the conversation: model, tools, parameters."""
    return {k: v for k, v in request.items() if k not in _CONVERSATION}


def read_case_file(path: Path) -> CaseFile:
    """Reads a case file; NotFoundError when there is none, FormatError with the field that is wrong."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no case file {path}", hint="`whyspan test RUN EVENT` writes one") from error
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        raise FormatError(
            f"{path} is not a case file of schema version {SCHEMA_VERSION}",
            hint="a newer version of whyspan may have written it",
        )
    return _decode(value, path)


def _decode(value: Mapping[str, Any], path: Path) -> CaseFile:
    try:
        return CaseFile(
            case=Case.from_json(_field(value, "case", dict)),
            verified=tuple(_verified(v, i) for i, v in enumerate(_field(value, "verified", list))),
            claims=tuple(_field(value, "claims", list)),
            created_with=_field(value, "created_with", str),
            created_at=_field(value, "created_at", str),
            redacted=_field(value, "redacted", dict),
            tests=_field(value, "tests", dict),
        )
    except FormatError as error:
        raise FormatError(f"{path}: {error.message}") from error


def _field(value: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in value:
        raise FormatError(f"the field {name!r} is missing")
    if not isinstance(value[name], kind):
        raise FormatError(f"the field {name!r} holds {value[name]!r:.60}, not {_KINDS[kind]}")
    return value[name]


_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "text"}


def _verified(value: Any, index: int) -> Verified:
    known = {f.name for f in fields(Verified)}
    if not isinstance(value, dict) or set(value) != known:
        wrong = sorted(known ^ set(value)) if isinstance(value, dict) else [repr(value)[:60]]
        raise FormatError(f"the field 'verified[{index}]' is wrong: {', '.join(wrong)} missing or unknown")
    return Verified(**value)


def write_case_file(path: Path, content: CaseFile) -> None:
    """Writes a case file, whole or not at all."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "created_with": content.created_with,
        "created_at": content.created_at,
        "redacted": dict(content.redacted),
        "tests": dict(content.tests),
        "verified": [asdict(v) for v in content.verified],
        "claims": [dict(c) for c in content.claims],
        "case": content.case.to_json(),
    }
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def update_case_file(path: Path, change: Callable[[CaseFile], CaseFile]) -> None:
    """Changes a case file; processes that do so at once, such as the workers of pytest-xdist, wait for each other."""
    with _locked(path.parent):
        write_case_file(path, change(read_case_file(path)))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks the folder itself, so that no lock file is left in somebody's repository."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a text file by a temporary name, so that a reader or a crash never sees half of it.

    Half of a surrogate pair, which JSON of a trace may hold, is written as its escape, which JSON reads back.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="backslashreplace", dir=path.parent, delete=False, suffix=".tmp"
    ) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
