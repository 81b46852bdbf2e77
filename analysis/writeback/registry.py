"""The back ends that can be written to: those of this package and those of installed packages."""

from collections.abc import Mapping
from functools import cache

from ...ingest.errors import UsageError
from ...ingest.plugins import load_plugins
from ...ingest.settings import nearest
from .delivery import OpenTarget

GROUP = "whyspan.writeback"
"""Entry-point group; the name is the back end's, the object opens it."""


@cache
def targets() -> Mapping[str, OpenTarget]:
    """Returns name → how to open it.

    Raises ConfigError when an installed package registers something that cannot be imported.
    """
    return load_plugins(GROUP, "target")


def find_target(name: str) -> OpenTarget:
    """Returns how to open a target; UsageError, with the nearest name, when there is no such one."""
    known = targets()
    if name not in known:
        raise UsageError(f"there is no target {name!r}", hint=nearest(name, known))
    return known[name]
