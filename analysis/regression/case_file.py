"""The frozen case on disk: `cases/NAME.case.json` beside the test that uses it."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...ingest.calls import Json
from ...ingest.errors import FormatError, NotFoundError
from ..cases import Case

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A request that an assertion was found to hold for, by replays."""

    assertion: str
    """For example `never calls forward_email`."""
    request: str
    """SHA-256 of the request's canonical JSON."""
    system: str
    """The system prompt of that request, to show what changed once the request differs."""
    hits: int
    draws: int

    def to_json(self) -> dict[str, Json]:
        """Returns the form used in case files."""
        return {
            "assertion": self.assertion, "request": self.request, "system": self.system,
            "hits": self.hits, "draws": self.draws,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """A case with what is known about it."""

    case: Case
    verified: tuple[Verified, ...] = ()
    claims: tuple[Mapping[str, Json], ...] = ()
    """The claims that led to the test, as `Claim.to_json` gives them."""
    created_with: str = ""
    created_at: str = ""
    """ISO 8601, UTC."""
    test_sha256: str = ""
    """Digest of the test file as it was written, to tell whether somebody has edited it since."""


def read_case_file(path: Path) -> CaseFile:
    """Reads a case file; NotFoundError when there is none, FormatError with the field that is wrong."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no case file {path}", hint="`whyspan test RUN EVENT` writes one") from error
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        raise FormatError(f"{path} is not a case file of schema version {SCHEMA_VERSION}")
    return _decode(value, path)


def _decode(value: Mapping[str, Any], path: Path) -> CaseFile:
    try:
        return CaseFile(
            case=Case.from_json(value["case"]),
            verified=tuple(Verified(**v) for v in value["verified"]),
            claims=tuple(value["claims"]),
            created_with=value["created_with"],
            created_at=value["created_at"],
            test_sha256=value["test_sha256"],
        )
    except KeyError as error:
        raise FormatError(f"{path} has no field {error.args[0]!r}") from error
    except TypeError as error:
        raise FormatError(f"{path} cannot be read: {error}") from error


def write_case_file(path: Path, content: CaseFile) -> None:
    """Writes a case file, whole or not at all."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "created_with": content.created_with,
        "created_at": content.created_at,
        "test_sha256": content.test_sha256,
        "verified": [v.to_json() for v in content.verified],
        "claims": [dict(c) for c in content.claims],
        "case": content.case.to_json(),
    }
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a text file by a temporary name, so that a reader or a crash never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False, suffix=".tmp") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
