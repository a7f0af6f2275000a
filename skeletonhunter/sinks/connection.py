"""How is ClickHouse reached? One DSN for the embedded engine (``chdb:///path``) and for a server.

A server is ``clickhouse://user:password@host:8123/database``, with TLS ``clickhouses://``; options after ``?`` go to
clickhouse-connect. The embedded path may be relative. A database in a server's DSN goes before the configured one.

Limits of the embedded engine, tried with chdb 4.4: one path per process and one process per path (a lock file), so a
sink must end before another process may read; inserts go through a file in the temporary directory; merges and TTL run
only while a process has the path open; the client is experimental and synchronous.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from skeletonhunter.migrations import MigrationError
from skeletonhunter.settings import ClickHouseSettings

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

SCHEMES = ("chdb", "clickhouse", "clickhouses", "http", "https")
TRANSIENT_CODES = frozenset((159, 164, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 279, 285, 286, 319, 394, 999))
"""Codes of ClickHouse that pass: timeouts, too many queries or parts, read-only replicas, memory, disk, keeper."""

UNKNOWN_DATABASE = 81
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""A name of a database that queries can spell as it is."""


class ClickHouseDsnError(ValueError):
    """A DSN that names no ClickHouse; the text never holds a password."""


class ClickHouseBusyError(RuntimeError):
    """Another process has the embedded database open."""


def redacted(dsn: str) -> str:
    """The DSN without its password, for messages and logs."""
    return re.sub(r"(?<=:)[^:@/]*(?=@)", "***", re.sub(r"(password=)[^&]*", r"\1***", dsn))


def is_embedded(dsn: str) -> bool:
    """Whether the DSN means the engine inside this process."""
    return dsn.startswith("chdb:")


def embedded_path(dsn: str) -> Path:
    """The absolute folder of an embedded database.

    Raises:
        ClickHouseDsnError: the DSN names no folder.
    """
    path = dsn.removeprefix("chdb:").removeprefix("//")
    if not path or path.strip("/") in ("", "memory", ":memory:"):
        raise ClickHouseDsnError(f"{dsn}: expected chdb:///absolute/path or chdb://relative/path")
    return Path(path).absolute()


def database_of(settings: ClickHouseSettings) -> str:
    """Name of the database: the one in the server's DSN, else the configured one.

    Raises:
        ClickHouseDsnError: the DSN has a name that needs quoting.
    """
    name = "" if is_embedded(settings.dsn) else urlsplit(settings.dsn).path.strip("/")
    if name and not _NAME.fullmatch(name):
        raise ClickHouseDsnError(
            f"{redacted(settings.dsn)}: the database is {name!r}, expected letters, digits and underscores"
        )
    return name or settings.database


def is_made(dsn: str) -> bool:
    """Whether an embedded database is there; opening one that is not would make it.

    Raises:
        ClickHouseDsnError: the DSN names no folder, or one that we may not look at.
    """
    try:
        return embedded_path(dsn).exists()
    except OSError as error:
        raise ClickHouseDsnError(f"{dsn}: can't be looked at: {error.strerror}") from error


def need_database(settings: ClickHouseSettings, before: str = "") -> None:
    """Refuses to look where no embedded database was ever made; opening it would make an empty one.

    ``before`` begins the sentence.

    Raises:
        ClickHouseDsnError: there is none.
    """
    if is_embedded(settings.dsn) and not is_made(settings.dsn):
        raise ClickHouseDsnError(
            f"{before}{settings.dsn}: there is no database, expected the DSN of one as --clickhouse or clickhouse.dsn"
        )


def connect(settings: ClickHouseSettings) -> Client:
    """A client; its database need not exist yet. Close it when done: the embedded path is locked until then.

    Raises:
        ClickHouseDsnError: the DSN is none.
        ClickHouseBusyError: another process has the embedded database open.
        clickhouse_connect.driver.exceptions.OperationalError: the server does not answer.
    """
    scheme = urlsplit(settings.dsn).scheme
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise ClickHouseDsnError(f"{redacted(settings.dsn)}: unknown kind of DSN {scheme!r}, expected one of {known}")
    database_of(settings)
    return _embedded(settings.dsn) if is_embedded(settings.dsn) else _server(settings)


def is_away(error: Exception) -> bool:
    """Whether ClickHouse is away or busy, so that trying again later makes sense; anything else is a fault of ours."""
    from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

    if isinstance(error, DatabaseError) and error.code is not None:
        return error.code in TRANSIENT_CODES
    return isinstance(error, OperationalError)


@contextmanager
def faults_of_clickhouse(dsn: str, wrong: type[Exception]) -> Iterator[None]:
    """Turns what is wrong with a DSN or a database into ``wrong``, one sentence without a password.

    Raises:
        Exception: ``wrong``.
    """
    from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

    try:
        yield
    except (ClickHouseDsnError, ClickHouseBusyError, MigrationError) as error:
        raise wrong(str(error)) from error
    except OperationalError as error:
        raise wrong(f"{redacted(dsn)}: no ClickHouse answers there, expected a running server") from error
    except DatabaseError as error:
        if error.code == UNKNOWN_DATABASE:
            raise wrong(f"{redacted(dsn)}: the database has no tables yet, expected: skeletonhunter migrate") from error
        raise wrong(f"{redacted(dsn)}: {str(error).splitlines()[0]}") from error


def _server(settings: ClickHouseSettings) -> Client:
    import clickhouse_connect

    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)  # its errors are raised, which is enough
    parts = urlsplit(settings.dsn)
    try:
        _ = parts.port
    except ValueError as error:
        raise ClickHouseDsnError(f"{redacted(settings.dsn)}: {error}") from error
    tls = parts.scheme in ("clickhouses", "https")
    plain = urlunsplit(parts._replace(path=""))
    return clickhouse_connect.get_client(
        dsn=plain,
        interface="https" if tls else None,
        autogenerate_session_id=False,
        **_proof(settings),
        connect_timeout=10,
        send_receive_timeout=60,
    )


def _proof(settings: ClickHouseSettings) -> dict[str, str]:
    """How we prove who we are, and the server who it is, as far as the DSN does not say.

    Raises:
        ClickHouseDsnError: a file can't be read.
    """
    proof = {}
    if settings.ca:
        _read("ca", settings.ca)
        proof["ca_cert"] = settings.ca
    if settings.password_file:
        proof["password"] = _read("password_file", settings.password_file).rstrip("\r\n")
    return proof


def _read(setting: str, file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ClickHouseDsnError(f"clickhouse.{setting}: {file} can't be read: {why}") from error


def _embedded(dsn: str) -> Client:
    import clickhouse_connect
    from clickhouse_connect.driver.exceptions import ProgrammingError

    path = embedded_path(dsn)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClickHouseDsnError(f"{dsn}: the folder {path.parent} can't be made: {error.strerror}") from error
    try:
        return clickhouse_connect.get_client(interface="chdb", path=str(path))
    except ImportError as error:
        raise ClickHouseDsnError(
            f"{dsn}: the embedded engine is not installed, expected: pip install 'skeletonhunter[embedded]'"
        ) from error
    except ProgrammingError as error:
        raise ClickHouseBusyError(f"{path}: can't open the embedded database, {_cause(error)}") from error


def _cause(error: Exception) -> str:
    if "already initialized with path" in str(error):
        return "this process has another one open, expected one at a time"
    return "another process has it open, or it is no such database"
