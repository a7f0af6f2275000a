"""What can carry a probe? Few methods, so that RDMA, UDP and TCP can stand in for each other.

A transport belongs to one endpoint (one address, one RNIC). It knows neither plans nor trains: it sends a numbered
probe, and later says what became of the number. It answers the probes of others in the same ``poll``, so there is one
loop and no thread. Nothing in it waits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from msgspec import Struct

from collectors.probing.timing import Times
from schemas.probing import ProbeKind


class Peer(Struct, frozen=True, kw_only=True):
    """Where an endpoint is reached. ``qpn`` 0: it has no RDMA queue pair, or has not told us yet."""

    endpoint: str
    ip: str
    gid: bytes | None = None
    qpn: int = 0
    qkey: int = 0


class Probe(Struct, frozen=True, kw_only=True):
    """One packet to send. ``sport``: the source port that the plan asks for; ``ttl``: of a traceroute."""

    seq: int
    to: Peer
    sport: int
    ttl: int | None = None
    dport: int | None = None


class Answered(Struct, frozen=True):
    """A reply came."""

    seq: int
    times: Times


class Expired(Struct, frozen=True):
    """A hop on the way says that the probe's time to live ended there."""

    seq: int
    hop: str


class Failed(Struct, frozen=True):
    """It is known that no reply will come.

    ``because``: ``local`` - the packet did not leave, or its reply was dropped here: it proves nothing; ``absent`` -
    the peer's host answers that nobody listens: the network is well; ``network`` - it is not delivered.
    """

    seq: int
    because: Literal["local", "absent", "network"]
    reason: str


class Overflowed(Struct, frozen=True):
    """Packets were dropped here before we looked at them: a missing reply proves nothing now."""

    packets: int


class Located(Struct, frozen=True):
    """A peer answered a hello. ``session`` changes when the peer's agent starts anew."""

    endpoint: str
    session: int
    gid: bytes | None
    qpn: int
    qkey: int


Completion = Answered | Expired | Failed | Overflowed | Located


class UnsentError(Exception):
    """The local side can't send this probe; the text says why."""


class Transport(Protocol):
    """How probes are carried."""

    @property
    def kind(self) -> ProbeKind:
        """What results call it."""

    @property
    def is_polled(self) -> bool:
        """Whether arrivals do not show on ``fileno``, so that ``poll`` must be called at short intervals."""

    def open(self) -> None:
        """Gets what it needs.

        Raises:
            OSError: the device, address or port is not to be had; the text is one clear sentence.
        """

    def fileno(self) -> int:
        """Readable when ``poll`` has something to do."""

    def send(self, probe: Probe) -> int | None:
        """Sends it and returns the source port that it really has; None = the device does not say.

        Raises:
            UnsentError: the local side can't.
        """

    def poll(self) -> Iterable[Completion]:
        """What happened since it was asked last; answers the probes of others meanwhile."""

    def close(self) -> None:
        """Gives everything back."""
