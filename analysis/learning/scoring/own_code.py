"""Python files of the user's: evaluators and environments."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....ingest.errors import FormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCode:
    """A function or class in a file."""

    path: Path
    name: str
    place: str
    """File and field that name it, for errors."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file, 64 hex digits; FormatError when there is none."""
        if not self.path.is_file():
            raise FormatError(f"{self.place}: {self.path} does not exist")
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def load(self) -> Any:
        """Returns what the file calls by the name; FormatError when it cannot be imported or has no such thing."""
        spec = importlib.util.spec_from_file_location(f"whyspan_own_{self.fingerprint[:12]}", self.path)
        if spec is None or spec.loader is None:
            raise FormatError(f"{self.place}: {self.path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # the user's own code may raise anything
            raise FormatError(f"{self.path} cannot be imported: {type(error).__name__}: {error}") from error
        found = getattr(module, self.name, None)
        if not callable(found):
            raise FormatError(f"{self.place}: {self.path} has no {self.name!r}")
        return found

    def failed(self, error: Exception) -> FormatError:
        """Returns the error to raise when the code has raised one."""
        return FormatError(f"{self.place}: it raised {type(error).__name__}: {error}")
