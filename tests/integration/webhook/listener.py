"""A real HTTP receiver of alerts that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was received."""

    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes


class Receiver:
    """Answers with ``answers`` in turn, then with 204; a status of 0 cuts the connection."""

    def __init__(self, answers: Sequence[int], headers: Mapping[str, str], port: int) -> None:
        self.answers = list(answers)
        self.headers = headers
        self.calls: list[Call] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hooks/secret-token?key=hidden"

    @property
    def deliveries(self) -> list[str]:
        """What was received, in order, as ``delivery``."""
        return [call.body["delivery"] for call in self.calls]

    def _handler(receiver) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.calls.append(Call(self.path, dict(self.headers), json.loads(content), content))
                status = receiver.answers.pop(0) if receiver.answers else 204
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        return Handler


@contextmanager
def receiving(*answers: int, headers: Mapping[str, str] | None = None, port: int = 0) -> Iterator[Receiver]:
    """A receiver at work until the block ends."""
    receiver = Receiver(answers, headers or {}, port)
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()
