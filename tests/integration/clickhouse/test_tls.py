"""ClickHouse over TLS as a user whose password is in a file: what is right is let in, what is wrong is refused."""

from __future__ import annotations

import secrets
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import connect
from tests.integration.clickhouse.http_front import serving

pytestmark = [
    pytest.mark.clickhouse,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes the certificate, is missing"),
]
PASSWORD = secrets.token_hex(8)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that vouches for itself."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    how = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*how, "-keyout", str(path) + ".key", "-out", str(path)], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def port(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server that lets one user in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, str(certificate) + ".key")
    with serving(str(tmp_path_factory.mktemp("db") / "db"), tls=context, users={"sink": PASSWORD}) as port:
        yield port


def settings(port: int, certificate: Path, password: str, folder: Path) -> ClickHouseSettings:
    (folder / "password").write_text(f"{password}\n")
    return ClickHouseSettings(
        dsn=f"clickhouses://sink@127.0.0.1:{port}/x", password_file=str(folder / "password"), ca=str(certificate)
    )


def test_a_user_is_let_in_over_tls(port: int, certificate: Path, tmp_path: Path) -> None:
    with closing(connect(settings(port, certificate, PASSWORD, tmp_path))) as client:
        assert client.query("SELECT 1").result_rows == [(1,)]


def test_a_wrong_password_is_refused_and_not_repeated(port: int, certificate: Path, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as caught:
        connect(settings(port, certificate, "guess-of-mine", tmp_path))
    assert "guess-of-mine" not in str(caught.value)


def test_a_server_that_nobody_vouches_for_is_refused(port: int, certificate: Path, tmp_path: Path) -> None:
    own = settings(port, certificate, PASSWORD, tmp_path)
    with pytest.raises(OperationalError):
        connect(ClickHouseSettings(dsn=own.dsn, password_file=own.password_file))
