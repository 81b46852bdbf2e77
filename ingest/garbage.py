"""How often Python looks for reference cycles.

Spans, rows and replies come and go by the thousand and hold none; looking for them among all that lives takes a tenth
to a third of the time of bulk work.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collections() -> Iterator[None]:
    """Lets Python look seldom while the block runs."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
