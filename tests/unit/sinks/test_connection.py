"""DSNs are understood, and passwords never leave them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError, ProgrammingError
from hypothesis import given, settings
from hypothesis import strategies as st

from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import (
    ClickHouseDsnError,
    connect,
    database_of,
    embedded_path,
    faults_of_clickhouse,
    is_away,
    is_embedded,
    need_database,
    redacted,
)


@settings(deadline=None)
@given(password=st.text(min_size=8).map(lambda text: quote(text, safe="")).filter(lambda text: len(text) > 7))
def test_a_password_is_never_shown(password: str) -> None:
    for dsn in (f"clickhouse://reader:{password}@db:8123/x", f"https://db/x?user=a&password={password}&secure=true"):
        assert password not in redacted(dsn)
        assert "db" in redacted(dsn)


def test_a_dsn_without_password_stays_as_it_is() -> None:
    for dsn in ("clickhouse://db:8123/x", "chdb:///var/lib/x", "https://db/x?secure=true"):
        assert redacted(dsn) == dsn


@pytest.mark.parametrize(
    ("dsn", "path"),
    [("chdb:///a/b", "/a/b"), ("chdb://a/b", str(Path.cwd() / "a/b")), ("chdb://./a", str(Path.cwd() / "a"))],
)
def test_embedded_paths_are_absolute_or_relative(dsn: str, path: str) -> None:
    assert is_embedded(dsn)
    assert str(embedded_path(dsn)) == path


@pytest.mark.parametrize("dsn", ["chdb://", "chdb:///", "chdb://memory", "chdb:"])
def test_an_embedded_database_needs_a_folder(dsn: str) -> None:
    with pytest.raises(ClickHouseDsnError, match=r"expected chdb:///absolute/path or chdb://relative/path"):
        embedded_path(dsn)


def test_an_unknown_kind_of_dsn_is_refused_without_its_password() -> None:
    with pytest.raises(ClickHouseDsnError) as caught:
        connect(ClickHouseSettings(dsn="postgres://u:hidden@db/x"))
    assert "hidden" not in str(caught.value)
    assert "unknown kind of DSN 'postgres'" in str(caught.value)


@pytest.mark.parametrize(
    ("dsn", "name"),
    [("clickhouse://db:8123/night", "night"), ("clickhouse://db:8123", "set"), ("chdb:///var/lib/x", "set")],
)
def test_a_database_in_the_dsn_goes_first(dsn: str, name: str) -> None:
    assert database_of(ClickHouseSettings(dsn=dsn, database="set")) == name


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (OperationalError("Error executing HTTP request"), True),
        (DatabaseError("too many parts", code=252), True),
        (OperationalError("no such table", code=60), False),
        (ProgrammingError("no such table"), False),
        (ValueError("ours"), False),
    ],
)
def test_only_what_passes_by_itself_is_tried_again(error: Exception, away: bool) -> None:
    assert is_away(error) is away


def test_a_place_that_can_hold_no_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClickHouseDsnError, match=r"the folder .*file can't be made: "):
        connect(ClickHouseSettings(dsn=f"chdb://{tmp_path}/file/db"))


def test_looking_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(
        ClickHouseDsnError, match=r"^x: there is no file, and chdb://.*: there is no database, expected "
    ):
        need_database(ClickHouseSettings(dsn=f"chdb://{tmp_path}/db"), "x: there is no file, and ")
    need_database(ClickHouseSettings(dsn=f"chdb://{tmp_path}"))
    need_database(ClickHouseSettings(dsn="clickhouse://db/x"))
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_tables_is_told_what_makes_them() -> None:
    unmade = DatabaseError("Code: 81. DB::Exception: Database x does not exist. (UNKNOWN_DATABASE)")
    unmade.code = 81
    wanted = pytest.raises(ValueError, match="no tables yet, expected: skeletonhunter migrate")
    with wanted, faults_of_clickhouse("chdb:///x", ValueError):
        raise unmade


def test_a_folder_that_may_not_be_looked_at_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", forbidden)
    with pytest.raises(ClickHouseDsnError, match="can't be looked at: Permission denied"):
        need_database(ClickHouseSettings(dsn=f"chdb://{tmp_path}/db"))


@pytest.mark.parametrize("name", ["my-db", "a/b", "x y", "1st", "d`", "x;DROP"])
def test_a_database_of_a_name_that_queries_can_not_spell_is_refused(name: str) -> None:
    asked = ClickHouseSettings(dsn=f"clickhouse://reader:hidden@db:8123/{name}")
    for refuse in (database_of, connect):
        with pytest.raises(ClickHouseDsnError, match="expected letters, digits and underscores") as caught:
            refuse(asked)
        assert "hidden" not in str(caught.value)


def test_a_port_that_is_none_is_refused_with_a_sentence() -> None:
    for dsn in ("clickhouse://db:port/x", "clickhouse://db:99999/x"):
        with pytest.raises(ClickHouseDsnError, match=r"clickhouse://db:.*: [Pp]ort"):
            connect(ClickHouseSettings(dsn=dsn))


@pytest.mark.parametrize("what", ["password_file", "ca"])
def test_a_file_that_can_not_be_read_is_refused_with_a_sentence(tmp_path: Path, what: str) -> None:
    asked = {"dsn": "clickhouses://db:8443/x", what: str(tmp_path / "none")}
    with pytest.raises(ClickHouseDsnError, match=rf"clickhouse\.{what}: .*none can't be read: No such file"):
        connect(ClickHouseSettings(**asked))
