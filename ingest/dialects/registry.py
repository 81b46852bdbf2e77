"""The dialects there are: those of this package and those of installed packages, found the same way."""

from collections.abc import Mapping
from functools import cache

from ..plugins import load_plugins
from .partial import Dialect

GROUP = "whyspan.dialects"
"""Entry-point group; the name is the dialect's, the object is the function."""


@cache
def dialects() -> Mapping[str, Dialect]:
    """Returns name → dialect, in the order of the names.

    Raises ConfigError when an installed package registers something that cannot be imported or called.
    """
    return load_plugins(GROUP, "dialect")
