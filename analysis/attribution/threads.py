"""Keeps the linear algebra of a procedure on one core: for matrices this small, more cores cost twice the time."""

from typing import TypeVar

from threadpoolctl import ThreadpoolController

from .ledger import Steps

T = TypeVar("T")


def on_one_thread(steps: Steps[T]) -> Steps[T]:
    """Plays a procedure; the limit holds while it computes, not while its draws are made."""
    libraries = ThreadpoolController()
    try:
        with libraries.limit(limits=1, user_api="blas"):
            order = next(steps)
        while True:
            replies = yield order
            with libraries.limit(limits=1, user_api="blas"):
                order = steps.send(replies)
    except StopIteration as end:
        result: T = end.value
        return result
