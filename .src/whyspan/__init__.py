"""whyspan: why did the agent do that? Answered by experiment, from its trace.

Names are imported on first use (PEP 562), so that ``import whyspan`` stays light inside an agent's process.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "case": ".analysis.regression.api",
    "fix": ".analysis.fixes.fix",
    "open_store": ".ingest.store",
    "record": ".ingest.record",
    "replay": ".analysis.replays",
    "run": ".ingest.record",
    "tool": ".ingest.record",
    "why": ".analysis.attribution.api",
}

__all__ = ["__version__", "case", "fix", "open_store", "record", "replay", "run", "tool", "why"]

if TYPE_CHECKING:
    from .analysis.attribution.api import why as why
    from .analysis.fixes.fix import fix as fix
    from .analysis.regression.api import case as case
    from .analysis.replays import replay as replay
    from .ingest.record import record as record
    from .ingest.record import run as run
    from .ingest.record import tool as tool
    from .ingest.store import open_store as open_store


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
