"""Is ClickHouse there, has it all migrations, and may we write?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from skeletonhunter import migrations
from skeletonhunter.doctor.findings import Finding, failed, ok, skipped
from skeletonhunter.migrations import MigrationError
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import (
    ClickHouseBusyError,
    ClickHouseDsnError,
    connect,
    database_of,
    is_embedded,
    is_made,
    redacted,
)

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

TABLE = "incidents"


def check_clickhouse(settings: ClickHouseSettings) -> Iterator[Finding]:
    """Reachable, migrated, writable."""
    from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

    place = redacted(settings.dsn)
    try:
        if is_embedded(settings.dsn) and not is_made(settings.dsn):
            yield skipped("clickhouse", f"{place}: there is no embedded database yet, the sink makes it")
            return
        client = connect(settings)
    except ClickHouseBusyError as error:
        yield skipped("clickhouse", f"{error}: while a sink has it nobody else can look")
        return
    except ClickHouseDsnError as error:
        yield failed("clickhouse", str(error), "Correct clickhouse.dsn.")
        return
    except (OperationalError, DatabaseError) as error:
        said = str(error).splitlines()[0]
        yield failed("clickhouse", f"{place}: {said}", "Start ClickHouse, or correct host, port, user or password.")
        return
    try:
        yield ok("clickhouse", f"{place} answers")
        yield from _migrations(client, database_of(settings))
    finally:
        client.close()


def _migrations(client: Client, database: str) -> Iterator[Finding]:
    try:
        missing = migrations.pending(client, database)
    except MigrationError as error:
        yield failed(
            "migrations", str(error), "Run the version of this program that the database was made by, or newer."
        )
        return
    if missing:
        names = ", ".join(f"{each.number} {each.name}" for each in missing)
        yield failed("migrations", f"database {database} lacks {names}", "Run: skeletonhunter migrate")
        yield skipped("writing", "there are migrations to apply first")
        return
    yield ok("migrations", f"database {database} has all {len(migrations.migrations())}")
    yield _writing(client, database)


def _writing(client: Client, database: str) -> Finding:
    """An insert of no rows needs the right to insert, and changes nothing."""
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        client.command(f"INSERT INTO {database}.{TABLE} SELECT * FROM {database}.{TABLE} WHERE 0")
    except DatabaseError as error:
        said = str(error).splitlines()[0]
        fix = f"GRANT SELECT, INSERT ON {database}.* TO the user of clickhouse.dsn"
        return failed("writing", f"rows can't be written: {said}", fix)
    return ok("writing", f"rows may be written to {database}")
