"""Parts that are found by entry points: those of this package and those of installed packages, in the same way."""

from importlib.metadata import entry_points
from typing import Any

from .errors import ConfigError


def load_plugins(group: str, what: str) -> dict[str, Any]:
    """Returns name → object of an entry-point group, in the order of the names.

    `what` is the word for one of them. Raises ConfigError for one that cannot be imported or is not callable.
    """
    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=group), key=lambda e: e.name):
        try:
            plugin = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the {what} {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
        if not callable(plugin):
            raise ConfigError(f"the {what} {entry.name!r} ({entry.value}) is not a function or class")
        found[entry.name] = plugin
    return found
