"""Small causal structures and, for a removal, whether each would end the decision.

A structure says which removals end the decision: those that hold one piece (single), one of two (both needed), both of
two (either is enough), the first but not the second (masked: the second suppresses the decision once the first is
gone), one of a set (several: each is needed), all of three or more (many: any is enough), a growing share (diffuse), or
none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Mask = NDArray[np.bool_]
Positions = NDArray[np.int64]


class Shape(IntEnum):
    """The kinds of structure that the posterior compares."""

    NONE = 0
    DIFFUSE = 1
    MANY = 2
    SINGLE = 3
    EITHER = 4
    BOTH = 5
    MASKED = 6
    SEVERAL = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Structures drawn from a posterior, equally likely."""

    shape: Positions
    first: Positions
    """Position of the first piece in the pool; 0 where the shape has none."""
    second: Positions
    needed: Mask
    """bool[n_structures, n_pool]: the pieces of those where each of several is needed."""

    def endings(self, removals: Mask) -> Mask:
        """Returns bool[n_removals, n_structures]: whether each removal (bool[n_removals, n_pool]) ends the decision.

        Diffuse and many have no pieces here; they count as never ended.
        """
        a, b = removals[:, self.first], removals[:, self.second]
        several = self.shape == Shape.SEVERAL
        endings = np.zeros_like(a)
        endings[:, several] = removals.astype(np.float32) @ self.needed[several].T.astype(np.float32) > 0
        for shape, rule in (
            (Shape.SINGLE, a),
            (Shape.EITHER, a & b),
            (Shape.BOTH, a | b),
            (Shape.MASKED, a & ~b),
        ):
            where = self.shape == shape
            endings[:, where] = rule[:, where]
        return endings


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The order in which the structures of a pool stand in one vector of chances."""

    leaves: int
    """Number of leaves in the pool."""
    pairs: Positions
    """Ascending positions of the leaves that pairs are made of."""

    @property
    def upper(self) -> tuple[Positions, Positions]:
        """The two members of each unordered pair, as indices into `pairs`."""
        return np.triu_indices(len(self.pairs), 1)

    @property
    def _ends(self) -> Positions:
        m = len(self.pairs)
        unordered = m * (m - 1) // 2
        sizes = {Shape.SINGLE: self.leaves, Shape.EITHER: unordered, Shape.BOTH: unordered, Shape.MASKED: m * m}
        return np.cumsum([sizes.get(shape, 1) for shape in Shape])

    def split(self, chances: Array) -> Mapping[Shape, Array]:
        """Returns the part of each shape: one number, or one a leaf, a pair, or (masked) an ordered pair."""
        return dict(zip(Shape, np.split(chances, self._ends[:-1]), strict=True))

    def decode(self, index: Positions, several: Array) -> Sample:
        """Turns indices into the vector back into structures; `several` is float[n_pool], the chance of each leaf."""
        ends, m, upper = self._ends, len(self.pairs), self.upper
        shape = np.searchsorted(ends, index, side="right")
        offset = index - np.concatenate([[0], ends])[shape]
        first, second = np.zeros_like(index), np.zeros_like(index)
        single = shape == Shape.SINGLE
        first[single] = offset[single]
        for paired in (Shape.EITHER, Shape.BOTH):
            where = shape == paired
            first[where], second[where] = self.pairs[upper[0][offset[where]]], self.pairs[upper[1][offset[where]]]
        where = shape == Shape.MASKED
        first[where], second[where] = self.pairs[offset[where] // m], self.pairs[offset[where] % m]
        # Any fixed numbers do: they only have to differ from structure to structure.
        needed = np.random.default_rng(0).random((len(index), self.leaves)) < several
        needed[shape != Shape.SEVERAL] = False
        return Sample(shape=shape, first=first, second=second, needed=needed)
