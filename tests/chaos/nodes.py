"""The two services that a disturbance may take away: Apache Kafka on one node, and ClickHouse's engine behind HTTP.

Both keep their address and their disk when they are killed and started again.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import sys
import time
from pathlib import Path

from skeletonhunter.embedded.processes import Child
from tests.free_ports import free_port
from tests.integration.clickhouse.http_front import serving

COMMAND, ADDRESS = "SKELETONHUNTER_TEST_CHAOS_COMMAND", "SKELETONHUNTER_TEST_CHAOS_BROKER"
START_S = 240.0


class Node:
    """A service that answers at ``address`` while it runs."""

    def __init__(self, command: list[str], address: str, log: Path) -> None:
        self.address = address
        self._command = command
        self._log = log
        self._child: Child | None = None
        self.start()

    def launch(self) -> Child:
        """Starts it."""
        with self._log.open("ab") as output:
            self._child = Child(self._command, output)
        return self._child

    def start(self) -> None:
        """Starts it and waits until it answers."""
        child = self.launch()
        ends_s = time.monotonic() + START_S
        while True:
            try:
                host, port = self.address.split(":")
                socket.create_connection((host, int(port)), timeout=1.0).close()
                return
            except OSError:
                assert child.ended() is None and time.monotonic() < ends_s, self._log.read_text()[-3000:]
                time.sleep(0.05)

    @property
    def child(self) -> Child:
        """The process that runs."""
        assert self._child is not None
        return self._child

    def kill(self) -> None:
        """``kill -9``."""
        self.child.kill()

    def stop(self) -> None:
        """Asks it to end, and waits."""
        self.child.ask()
        self.child.wait(60.0)

    def pause(self, is_paused: bool) -> None:
        """Stops it from running without ending it, or lets it go on."""
        self.child.process.send_signal(signal.SIGSTOP if is_paused else signal.SIGCONT)


def kafka_node(folder: Path) -> Node:
    """Apache Kafka, as ``.ci/chaos`` has prepared it."""
    return Node(shlex.split(os.environ[COMMAND]), os.environ[ADDRESS], folder / "kafka.log")


def clickhouse_node(folder: Path) -> Node:
    """The engine of ClickHouse in a process of its own, with its data in ``folder``."""
    port = free_port()
    command = [sys.executable, "-m", "tests.chaos.nodes", str(folder / "clickhouse"), str(port)]
    return Node(command, f"127.0.0.1:{port}", folder / "clickhouse.log")


if __name__ == "__main__":
    with serving(sys.argv[1], int(sys.argv[2])):
        signal.pause()
