import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from whyspan.analysis.attribution.ledger import Steps
from whyspan.analysis.attribution.problem import Draw
from whyspan.analysis.attribution.threads import on_one_thread


def blas_threads() -> set[int]:
    assert np.eye(2).any()  # Its library is loaded.
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def compute() -> Steps[list[set[int]]]:
    before = blas_threads()
    yield (Draw(removal=frozenset(), count=1),)
    return [before, blas_threads()]


def test_only_the_computing_is_kept_on_one_thread() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        usual = blas_threads()
        steps = on_one_thread(compute())
        order = next(steps)
        assert [draw.count for draw in order] == [1]
        assert blas_threads() == usual, "the limit holds while the draws are made"
        with pytest.raises(StopIteration) as end:
            steps.send(((),))
        assert end.value.value == [{1}, {1}]
        assert blas_threads() == usual
