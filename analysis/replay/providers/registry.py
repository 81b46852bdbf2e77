"""The wires there are, one an API: those of this package and those of installed packages, found the same way."""

from collections.abc import Mapping
from functools import cache

from ....ingest.calls import Api
from ....ingest.errors import NotReplayableError
from ....ingest.plugins import load_plugins
from .http import Wire

GROUP = "whyspan.providers"
"""Entry-point group; the name is the API's, the object a class without arguments that makes a Wire."""


@cache
def wires() -> Mapping[str, Wire]:
    """Returns API name → wire; ConfigError when an installed package registers something that cannot be loaded."""
    return {name: make() for name, make in load_plugins(GROUP, "provider").items()}


def wire_of(api: Api) -> Wire:
    """Returns how an API is spoken; NotReplayableError when nothing here speaks it."""
    known = wires()
    if api.value not in known:
        raise NotReplayableError(
            f"{api.value} requests cannot be sent by this version",
            hint="it sends " + ", ".join(known) + "; --model-fn FILE:FUNCTION answers any request",
        )
    return known[api.value]
