"""When are roll-ups up to date? A server refreshes them every minute; what ends sooner asks for it.

The embedded engine does so only while a process has it open, so whoever writes to one refreshes before closing it.
Cost: the rows of the minutes that got rows since the last time, read once per roll-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skeletonhunter.migrations.catalogue import rollups

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client


def refresh(client: Client, database: str) -> None:
    """Works out what is due of all roll-ups, and returns when it is there.

    Raises:
        clickhouse_connect.driver.exceptions.DatabaseError: a refresh failed.
    """
    for rollup in rollups():
        client.command(f"SYSTEM REFRESH VIEW `{database}`.{rollup.name}")
    for rollup in rollups():
        client.command(f"SYSTEM WAIT VIEW `{database}`.{rollup.name}")
