"""How does Prometheus get at the metrics of a part? A thread answers ``GET /metrics``, one request at a time.

Made for one scraper in a network that is trusted with numbers: no TLS, no names, nothing is changed by a request. A
client that has not asked within ``PATIENCE_S`` or sends more than ``MOST_BYTES`` before its empty line is cut off.
Written on plain sockets because the agent must stay small: ``http.server`` would add two megabytes. Values are read
when asked; a reading that fails is an answer of 503, and the next one may succeed.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from schemas.metrics import CONTENT_TYPE, Reading, exposition

log = logging.getLogger(__name__)

PATIENCE_S = 5.0
MOST_BYTES = 8192
TRIES = 5
AGAIN_S = 0.5
PASSING = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED, errno.EPROTO))
"""Why a connection can't be taken now, but later."""

Readings = Callable[[], Iterable[Reading]]


class AddressError(OSError):
    """The address can't be listened on; the text says which and why."""


@contextmanager
def exposed(address: str | None, read: Readings) -> Iterator[str | None]:
    """Serves metrics on ``host:port`` while this lasts; gives the address (port 0 = any), None when nothing is served.

    Raises:
        AddressError: it can't be listened on.
    """
    if address is None:
        yield None
        return
    host, _, port = address.rpartition(":")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        server = socket.create_server((host.strip("[]"), int(port)), family=family)
    except (OSError, ValueError, OverflowError) as error:
        raise AddressError(f"metrics can't be served on {address}: {error}") from None
    thread = threading.Thread(target=_serve, args=(server, read), name="metrics", daemon=True)
    thread.start()
    try:
        yield f"{host}:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)
        server.close()


def _serve(server: socket.socket, read: Readings) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError as error:
            if error.errno not in PASSING:
                return  # closed: the part ends
            time.sleep(AGAIN_S)
            continue
        with client:
            try:
                client.sendall(answer(_request(client), read))
            except OSError:
                continue  # a client that went away


def _request(client: socket.socket) -> bytes:
    """The first line of a request, when its headers are there.

    Raises:
        OSError: they did not come in time.
    """
    got, ends_s = b"", time.monotonic() + PATIENCE_S
    client.settimeout(PATIENCE_S)
    while b"\r\n\r\n" not in got and len(got) < MOST_BYTES:
        if time.monotonic() > ends_s:
            raise TimeoutError
        more = client.recv(MOST_BYTES)
        if not more:
            break
        got += more
    return got.partition(b"\r\n")[0]


def answer(line: bytes, read: Readings) -> bytes:
    """The whole answer to a request's first line."""
    method, _, rest = line.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method not in (b"GET", b"HEAD"):
        return _response("405 Method Not Allowed", "text/plain", b"")
    if path != b"/metrics":
        return _response("404 Not Found", "text/plain", b"the metrics are at /metrics\n")
    page = _page(read)
    if page is None:
        return _response("503 Service Unavailable", "text/plain", b"the values could not be read\n")
    response = _response("200 OK", CONTENT_TYPE, page)
    return response if method == b"GET" else response.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def _page(read: Readings) -> bytes | None:
    """The page; what changes under the reader's hands is read again."""
    for _ in range(TRIES):
        try:
            return exposition(read()).encode()
        except RuntimeError as error:  # a dictionary changed its size
            log.debug("read again: %s", error)
        except Exception:  # a bug of one value must not end the metrics of the part
            log.exception("the metrics can't be read")
            break
    return None


def _response(status: str, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
