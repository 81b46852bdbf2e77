"""Seeds of recorded requests. A request that fixes its seed would get the same reply again and again, and samples that
repeat each other are no evidence: each sample gets a seed of its own, derived from the recorded one.
"""

import hashlib

from ...ingest.calls import Body, Json
from ..fields import value_at, with_values
from ..parameters import HOLDERS

PLACES = (("seed",), *((holder, "seed") for holder in HOLDERS.values()))
_ROOTS = frozenset(place[0] for place in PLACES)


def has_seed(request: Body) -> bool:
    """Whether a request fixes its seed."""
    return any(value_at(request, place) is not None for place in PLACES)


def with_seed_of_sample(request: Body, sample: int) -> Body:
    """Returns the request for one sample; without a seed, the request itself."""
    if _ROOTS.isdisjoint(request):
        return request
    found = [(place, seed) for place in PLACES if (seed := value_at(request, place)) is not None]
    return with_values(request, [(place, _derived(seed, sample)) for place, seed in found]) if found else request


def _derived(seed: Json, sample: int) -> int:
    """Seeds close to each other start some generators alike, so they are spread over 31 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{sample}".encode()).digest()[:4], "big") >> 1
