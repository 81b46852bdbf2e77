"""The request forms there are, found by the name of their API like the providers that send them."""

from collections.abc import Mapping
from functools import cache

from ...ingest.calls import Api
from ...ingest.errors import NotReplayableError
from ...ingest.plugins import load_plugins
from .form import RequestForm

GROUP = "whyspan.forms"
"""Entry-point group; the name is the API's, the object a class without arguments that makes a RequestForm."""


@cache
def forms() -> Mapping[str, RequestForm]:
    """Returns API name → form; ConfigError when an installed package registers something that cannot be loaded."""
    return {name: make() for name, make in load_plugins(GROUP, "request form").items()}


def form_of(api: Api) -> RequestForm:
    """Returns the form of an API; NotReplayableError when there is none."""
    known = forms()
    if api.value not in known:
        raise NotReplayableError(
            f"{api.value} requests cannot be replayed by this version", hint="it replays " + ", ".join(known)
        )
    return known[api.value]
