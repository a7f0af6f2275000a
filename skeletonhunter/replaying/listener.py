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
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler(self.bodies))
        self.url = f"http://127.0.0.1:{self._server.server_port}/alerts"

    @staticmethod
    def handler(bodies: list[dict[str, Any]]) -> type[BaseHTTPRequestHandler]:
        """What answers a request; what was posted goes to ``bodies``."""

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "0")
                if not (length.isascii() and length.isdigit() and len(length) < 10):
                    self.send_error(400)
                    return
                if int(length) > MAX_BODY_BYTES:
                    self.send_error(413)
                    return
                try:
                    body = orjson.loads(self.rfile.read(int(length)))
                except orjson.JSONDecodeError:
                    body = None
                if not isinstance(body, dict):
                    self.send_error(400)
                    return
                bodies.append(body)
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
