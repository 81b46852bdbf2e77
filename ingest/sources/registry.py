"""The back ends that can be imported from: those of this package and those of installed packages."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeAlias

from ..plugins import load_plugins
from .source import Source

GROUP = "whyspan.sources"
"""Entry-point group; the name is the back end's, the object opens it."""
OpenSource: TypeAlias = Callable[..., AbstractContextManager[Source]]
"""`open(selection, **options)`; where the back end is and the keys come from the environment."""


@cache
def sources() -> Mapping[str, OpenSource]:
    """Returns name → how to open it.

    Raises ConfigError when an installed package registers something that cannot be imported.
    """
    return load_plugins(GROUP, "source")
