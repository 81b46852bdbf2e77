"""Small causal structures and, for a removal, whether each would end the decision.

A structure says which removals end the decision: those that hold one piece (single), one of two (both needed), both of
two (either is enough), the first but not the second (masked: the second suppresses the decision once the first is
gone), all of three or more (many: any is enough), a growing share (diffuse), or none.
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
    MANY = 2
    SINGLE = 3
    EITHER = 4
    BOTH = 5
    MASKED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Structures drawn from a posterior, equally likely."""

    shape: NDArray[np.int64]
    first: NDArray[np.int64]
    """Position of the first piece in the pool; 0 where the shape has none."""
    second: NDArray[np.int64]

    def endings(self, removals: Mask) -> Mask:
        """Returns bool[n_removals, n_structures]: whether each removal (bool[n_removals, n_pool]) ends the decision.

        Diffuse and many have no pieces here; they count as never ended.
        """
        a, b = removals[:, self.first], removals[:, self.second]
        endings = np.zeros_like(a)
        for shape, rule in (
            (Shape.SINGLE, a),
            (Shape.EITHER, a & b),
            (Shape.BOTH, a | b),
            (Shape.MASKED, a & ~b),
        ):
            where = self.shape == shape
            endings[:, where] = rule[:, where]
        return endings
