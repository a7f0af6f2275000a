"""One broker for all tests of this folder: the embedded one, or the one that $SKELETONHUNTER_TEST_KAFKA names."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from skeletonhunter.embedded.broker import embedded_broker
from tests.kafka_bench import NAMED_BROKER


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """The address of a broker."""
    named = os.environ.get(NAMED_BROKER)
    if named:
        yield named
        return
    with embedded_broker() as address:
        yield address
