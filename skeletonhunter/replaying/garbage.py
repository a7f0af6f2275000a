"""When is it worth looking for reference cycles? Seldom, while millions of values go by that are all trees."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Looks for reference cycles rarely: values are trees, a search through a minute of them frees nothing."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
