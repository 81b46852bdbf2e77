"""Small causal structures and, for a removal, whether each would end the decision.

A structure says which removals end the decision: those that hold one piece (single), one of two (both needed), both of
two (either is enough), the first but not the second (masked: the second suppresses the decision once the first is
gone), a growing share (diffuse), or none.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Shape(IntEnum):
    """The kinds of structure that the posterior compares."""

    NONE = 0
    DIFFUSE = 1
    SINGLE = 2
    EITHER = 3
    BOTH = 4
    MASKED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Structures drawn from a posterior, equally likely."""

    shape: NDArray[np.int64]
    first: NDArray[np.int64]
    """Position of the first piece in the pool; 0 where the shape has none."""
    second: NDArray[np.int64]

    def endings(self, removals: Mask) -> Array:
        """Returns float[n_removals, n_structures], 0 to 1: how far each removal (bool[n_removals, n_pool]) ends it."""
        a, b = removals[:, self.first], removals[:, self.second]
        endings = np.zeros(a.shape)
        for shape, rule in (
            (Shape.SINGLE, a),
            (Shape.EITHER, a & b),
            (Shape.BOTH, a | b),
            (Shape.MASKED, a & ~b),
            (Shape.DIFFUSE, np.broadcast_to(removals.mean(axis=1)[:, None], a.shape)),
        ):
            where = self.shape == shape
            endings[:, where] = rule[:, where]
        return endings
