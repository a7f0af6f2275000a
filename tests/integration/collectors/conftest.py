"""A broker of its own for each test of this folder: they cut it off, stop it and kill it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.brokers import Broker


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """With all topics."""
    made = Broker(tmp_path)
    try:
        made.create_topics()
        yield made
    finally:
        made.close()
