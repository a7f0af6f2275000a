"""How is the search for reference cycles kept from costing as much as the work? Values are trees: it finds nothing.

Decoding makes some fifty objects per message. With Python's defaults the collector walks through all that are alive so
often that a batch takes 1.5 times as long; rarely is enough for what little garbage there is.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 200_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """The collector runs rarely while this lasts, and leaves what was there before in peace."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
