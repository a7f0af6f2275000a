"""The collector is set back as it was, whatever happens."""

from __future__ import annotations

import gc

import pytest

from skeletonhunter.sinks.garbage import YOUNG_OBJECTS, rare_collections


def test_the_collector_runs_rarely_for_a_while() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(KeyError), rare_collections():
        assert gc.get_threshold()[0] == YOUNG_OBJECTS
        raise KeyError
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
