"""Who receives alerts in a demonstration? A small HTTP listener on loopback that keeps what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

MAX_BODY_BYTES = 1_000_000


class AlertListener:
    """Keeps the JSON bodies that were posted to ``url``, in order of arrival."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/alerts"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                if length > MAX_BODY_BYTES:
                    self.send_error(413)
                    return
                bodies.append(orjson.loads(self.rfile.read(length)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing: the demonstration shows the bodies itself."""

        return Handler

    @contextmanager
    def listening(self) -> Iterator[AlertListener]:
        """Serves until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, name="alert-listener", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
