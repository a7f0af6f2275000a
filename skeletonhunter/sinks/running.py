"""What do the long-running sinks have in common as programs? A database that is ready, and an end on SIGTERM."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skeletonhunter import migrations
from skeletonhunter.settings import ClickHouseSettings, Settings
from skeletonhunter.sinks.backoff import while_clickhouse_is_away
from skeletonhunter.sinks.connection import connect, database_of, is_embedded, redacted
from skeletonhunter.sinks.repetitions import Repetitions

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_log = logging.getLogger(__name__)


class OutdatedDatabaseError(RuntimeError):
    """The database lacks migrations, and nobody asked this program to apply them."""


def log_to_stderr() -> None:
    """Warnings and what long-running parts say go to stderr, one line each."""
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(Repetitions())
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # what it tries again is told by us


def listen_to(settings: Settings) -> None:
    """From now on says what the settings ask for."""
    logging.getLogger().setLevel(settings.log.level.upper())


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT set ``stop`` while this lasts."""
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ready_database(settings: ClickHouseSettings, stop: threading.Event, migrate: bool) -> Iterator[Client]:
    """A client of a database that has all migrations. An embedded one is migrated here: nobody else can open it.

    Raises:
        ClickHouseDsnError, ClickHouseBusyError, MigrationError: see there.
        OutdatedDatabaseError: a server's database lacks migrations and ``migrate`` is false.
        tenacity.RetryError: ``stop`` was set while ClickHouse was away.
    """
    client = while_clickhouse_is_away(
        stop, lambda state: _log.warning("%s: away, attempt %d", redacted(settings.dsn), state.attempt_number)
    )(connect, settings)
    try:
        _bring_up_to_date(client, settings, migrate or is_embedded(settings.dsn))
        yield client
    finally:
        client.close()


def _bring_up_to_date(client: Client, settings: ClickHouseSettings, migrate: bool) -> None:
    database = database_of(settings)
    if migrate:
        migrations.apply(client, database)
    elif missing := migrations.pending(client, database, may_be_newer=True):
        numbers = ", ".join(str(migration.number) for migration in missing)
        raise OutdatedDatabaseError(
            f"{redacted(settings.dsn)}: database {database} lacks migrations {numbers}, "
            "expected them to be applied by: skeletonhunter migrate"
        )
