"""Who gets an answer? Requests to the right endpoint, within a rate. The transport sends what comes out.

An answer has the size of the request and goes to where the request came from, once: no amplification. Beyond
``rate`` answers a second in all, or ``rate_each`` to one asker, requests are dropped and counted: the limit must be
well above what plans ask of an RNIC, since a prober can't tell such a drop from a loss.
"""

from __future__ import annotations

import time
from collections.abc import Hashable

from msgspec import Struct
from msgspec.structs import replace

from collectors.probing.pacing import Fairness
from collectors.probing.packet import ANSWERS, NO_GID, Kind, Packet, read_packet, target_of
from collectors.probing.timing import LEVELS
from schemas.probing import Timestamps


class RdmaAddress(Struct, frozen=True):
    """Where our own queue pair is reached."""

    gid: bytes
    qpn: int
    qkey: int


class Refused(Struct):
    """What was not answered, by reason."""

    unreadable: int = 0
    misdirected: int = 0
    over_rate: int = 0


class Responder:
    """Answers for one endpoint. ``rdma`` is told to those who say hello."""

    def __init__(self, endpoint: str, session: int, key: bytes | None, limits: Fairness) -> None:
        self.refused = Refused()
        self.rdma: RdmaAddress | None = None
        self._target = target_of(endpoint)
        self._session = session
        self._key = key
        self._limits = limits

    def read(self, data: bytes) -> Packet | None:
        """The packet, None if it is none of ours."""
        try:
            return read_packet(data, self._key)
        except ValueError:
            self.refused.unreadable += 1
            return None

    def answer(self, packet: Packet, asker: Hashable, received_ns: int, by: Timestamps) -> Packet | None:
        """The answer, whose ``answered_ns`` is still to be set (in ``here``: to our session); None: there is none."""
        mono_us = time.monotonic_ns() // 1000
        kind = ANSWERS.get(packet.kind)
        if kind is None:
            return None
        if packet.target != self._target:
            self.refused.misdirected += 1
            return None
        if not self._limits.take(asker, mono_us):
            self.refused.over_rate += 1
            return None
        if kind is Kind.REPLY:
            return replace(packet, kind=kind, received_ns=received_ns, gid=NO_GID, qpn=LEVELS.index(by), qkey=0)
        gid, qpn, qkey = (self.rdma.gid, self.rdma.qpn, self.rdma.qkey) if self.rdma else (NO_GID, 0, 0)
        return replace(packet, kind=kind, received_ns=received_ns, gid=gid, qpn=qpn, qkey=qkey)

    @property
    def session(self) -> int:
        """Names this run of the agent."""
        return self._session
