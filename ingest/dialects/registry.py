"""The dialects there are: those of this package and those of installed packages, found the same way."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from ..errors import ConfigError
from .partial import Dialect

GROUP = "whyspan.dialects"
"""Entry-point group; the name is the dialect's, the object is the function."""


@cache
def dialects() -> Mapping[str, Dialect]:
    """Returns name → dialect, in the order of the names.

    Raises ConfigError when an installed package registers something that cannot be imported or called.
    """
    found: dict[str, Dialect] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        try:
            dialect = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the dialect {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
        if not callable(dialect):
            raise ConfigError(f"the dialect {entry.name!r} ({entry.value}) is not a function")
        found[entry.name] = dialect
    return found
