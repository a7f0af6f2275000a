"""ClickHouse's HTTP interface in front of the embedded engine, as far as clickhouse-connect uses it.

No ClickHouse server can be installed where the tests run. The engine behind this is the same, so the path that a
server's DSN takes is tested for real: client, HTTP, Arrow bodies, error codes, and a server that goes away and comes
back. It does not test anything that replicas do; of users and TLS only that clients prove
who they are, and ask for proof.
"""

from __future__ import annotations

import re
import ssl
import sys
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import chdb
import lz4.frame
import zstandard

_INSERT = re.compile(r"^(?P<head>INSERT INTO .*?)\s+FORMAT\s+(?P<format>\w+)\s*$", re.DOTALL)
_ENGINE_SETTINGS = ("async_insert", "max_partitions_per_insert_block")


@contextmanager
def serving(
    engine_path: str, port: int = 0, tls: ssl.SSLContext | None = None, users: dict[str, str] | None = None
) -> Iterator[int]:
    """Serves the embedded database at ``engine_path`` until the block ends; yields the port.

    ``tls``: over TLS only. ``users``: to these, with their passwords, only.
    """
    connection = chdb.connect(engine_path)
    server = _Server(("127.0.0.1", port), _handler(connection, users))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.close_all()
        thread.join()
        connection.close()


def _basic(user: tuple[str, str]) -> str:
    return f"Basic {b64encode(':'.join(user).encode()).decode()}"


class _Server(ThreadingHTTPServer):
    """Also ends connections that clients keep open, as a server that goes away does."""

    daemon_threads = True

    def __init__(self, *arguments: object) -> None:
        self.open_sockets: set[object] = set()
        super().__init__(*arguments)  # type: ignore[arg-type]

    def process_request(self, request: object, client_address: object) -> None:
        self.open_sockets.add(request)
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def shutdown_request(self, request: object) -> None:
        self.open_sockets.discard(request)
        super().shutdown_request(request)  # type: ignore[arg-type]

    def close_all(self) -> None:
        for request in list(self.open_sockets):
            self.shutdown_request(request)
        self.server_close()


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length", "0")))
    parts = []
    while size := int(request.rfile.readline(), 16):
        parts.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(parts)


def _handler(
    connection: chdb.state.sqlitelike.Connection, users: dict[str, str] | None = None
) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            body = _plain(_body(self), self.headers.get("Content-Encoding"))
            if users is not None and self.headers.get("Authorization") not in map(_basic, users.items()):
                self._answer(403, b"Code: 516. DB::Exception: Authentication failed")
                return
            with lock:
                try:
                    self._answer(200, _run(connection, asked, body))
                except Exception as error:
                    self._answer(500, str(error).encode())

        do_GET = do_POST  # noqa: N815 - the names that BaseHTTPRequestHandler looks for

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-ClickHouse-Timezone", "UTC")
            if status != 200 and (code := re.search(rb"Code: (\d+)", content)):
                self.send_header("X-ClickHouse-Exception-Code", code[1].decode())
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    return Handler


def _plain(body: bytes, encoding: str | None) -> bytes:
    if encoding == "lz4":
        return bytes(lz4.frame.decompress(body))
    return zstandard.ZstdDecompressor().decompressobj().decompress(body) if encoding == "zstd" else body


def _run(connection: chdb.state.sqlitelike.Connection, asked: dict[str, str], body: bytes) -> bytes:
    sql = asked.pop("query", None)
    if sql is None and body.startswith(b"INSERT INTO ") and b"\n" in body:
        head, _, body = body.partition(b"\n")
        sql = head.decode()
    database = asked.get("database")
    if database:
        connection.query(f"USE `{database}`")
    parameters = {name[6:]: value for name, value in asked.items() if name.startswith("param_")}
    if sql and (insert := _INSERT.match(sql)):
        return _insert(connection, insert, asked, body)
    result = connection.query(sql or body.decode(), "TabSeparated", params=parameters)
    return bytes(result.bytes() or b"")


def _insert(
    connection: chdb.state.sqlitelike.Connection, insert: re.Match[str], asked: dict[str, str], body: bytes
) -> bytes:
    settings = ", ".join(f"{name} = {asked[name]}" for name in _ENGINE_SETTINGS if name in asked)
    with tempfile.NamedTemporaryFile(suffix=".block") as file:
        file.write(body)
        file.flush()
        clause = f" SETTINGS {settings}" if settings else ""
        connection.query(f"{insert['head']} FROM INFILE '{file.name}'{clause} FORMAT {insert['format']}")
    return b""


if __name__ == "__main__":  # a server of its own, until its standard input ends
    with serving(sys.argv[1]) as served:
        sys.stdout.write(f"{served}\n")
        sys.stdout.flush()
        sys.stdin.read()
