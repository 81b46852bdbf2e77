"""How regression tests are run: what the pytest plugin was told, else the environment and whyspan.toml.

The plugin is loaded by every pytest run on the machine, so nothing heavy is imported and no file is read here until a
test asks for a case.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from ...ingest.errors import UsageError

if TYPE_CHECKING:
    from ..replay.models import ModelChoice
    from .check import Check


class Mode(StrEnum):
    """What a test does."""

    AUTO = "auto"
    """`live` when a model is configured, else `recorded`."""
    LIVE = "live"
    """Asks the model."""
    RECORDED = "recorded"
    """Asks nobody: passes while the request is the one that was verified."""
    REFRESH = "refresh"
    """Asks the model, and writes what it verified into the case file."""


class Inconclusive(StrEnum):
    """What becomes of a test whose budget ended before the rate was clear."""

    FAIL = "fail"
    SKIP = "skip"
    WARN = "warn"
    """It passes with a warning."""


def _silent(_: str) -> None:
    """Shows no progress."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of one test run."""

    mode: Mode = Mode.AUTO
    model_fn: str = ""
    base_url: str = ""
    model_name: str = ""
    """The model to ask in the place of the recorded one."""
    budget: int = 200
    """Replays that one assertion may make."""
    inconclusive: Inconclusive = Inconclusive.FAIL
    directory: Path = field(default_factory=Path.cwd)
    """Where case names are looked up: the folder of the test."""
    progress: Callable[[str], None] = _silent
    """Called with a line about what is going on."""
    checks: "list[Check]" = field(default_factory=list)
    """What the assertions of the running test came to."""

    def model(self) -> "ModelChoice | None":
        """Returns the model to ask, None in recorded mode; UsageError when `live` or `refresh` has no model."""
        from ...ingest.settings import load_settings
        from ..replay.models import choose_model

        if self.mode is Mode.RECORDED:
            return None
        base_url = self.base_url if self.model_fn else self.base_url or load_settings({}).base_url
        try:
            return choose_model(model_fn=self.model_fn, base_url=base_url)
        except UsageError:
            if self.mode is not Mode.AUTO or (self.model_fn and self.base_url):
                raise
            return None


_CURRENT: ContextVar[RunOptions | None] = ContextVar("whyspan_run_options", default=None)


def current_options() -> RunOptions:
    """Returns the options of the running test, or those of the environment outside pytest."""
    return _CURRENT.get() or RunOptions()


def use_options(options: RunOptions | None) -> None:
    """Sets the options for the test that is about to run."""
    _CURRENT.set(options)
