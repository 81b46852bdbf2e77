"""The back ends that can be written to: those of this package and those of installed packages."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from ...ingest.errors import ConfigError, UsageError
from ...ingest.settings import nearest
from .delivery import OpenTarget

GROUP = "whyspan.writeback"
"""Entry-point group; the name is the back end's, the object opens it."""


@cache
def targets() -> Mapping[str, OpenTarget]:
    """Returns name → how to open it.

    Raises ConfigError when an installed package registers something that cannot be imported.
    """
    found: dict[str, OpenTarget] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        try:
            found[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the target {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
    return found


def find_target(name: str) -> OpenTarget:
    """Returns how to open a target; UsageError, with the nearest name, when there is no such one."""
    known = targets()
    if name not in known:
        raise UsageError(f"there is no target {name!r}", hint=nearest(name, known))
    return known[name]
