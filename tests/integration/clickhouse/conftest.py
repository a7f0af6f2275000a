"""A database for each module, on the embedded engine or on the server that $SKELETONHUNTER_TEST_CLICKHOUSE names.

The embedded engine opens one folder per process, so a module opens one and closes it at its end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

from skeletonhunter import migrations
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.connection import connect

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_numbers = count()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    dsn = os.environ.get("SKELETONHUNTER_TEST_CLICKHOUSE") or f"chdb://{tmp_path_factory.mktemp('clickhouse')}/db"
    opened = connect(ClickHouseSettings(dsn=dsn))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def database(client: Client) -> Iterator[str]:
    """The name of a migrated database, which the client uses."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    migrations.apply(client, name)
    yield name
    client.command(f"DROP DATABASE {name}")


@pytest.fixture(scope="module")
def writer(client: Client, database: str) -> ClickHouseWriter:
    return ClickHouseWriter(client, database)
