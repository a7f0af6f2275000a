"""One endpoint of ours: its transports, which of them is used for a peer, and what to do when one fails.

UDP is always there, because it says hello. RDMA is used where the host has the device and pyverbs, and the peer a
queue pair. With ``auto`` an endpoint whose device was ever seen does not fall back to UDP when the device goes away:
its probes are then ``not_sent``, because the RTTs of another transport are not comparable. What can't be opened is
tried again after ``AGAIN_S``.
"""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from collectors.observing import Now
from collectors.probing.gids import gid_text
from collectors.probing.pacing import Fairness, TokenBucket
from collectors.probing.rdma import Device, RdmaTransport
from collectors.probing.responder import Responder
from collectors.probing.settings import ProbingSettings
from collectors.probing.tcp import TcpTransport
from collectors.probing.transport import Peer, Transport
from collectors.probing.udp import UdpTransport
from collectors.probing.verbs import NoVerbsError
from collectors.rnic.devices import Inventory
from schemas.instants import SECOND_US, micros
from schemas.probing import ProbeKind

log = logging.getLogger(__name__)

AGAIN_S = 2.0
REFRESH_S = 1.0
BURST_S = 0.1


class Place(Struct, frozen=True, kw_only=True):
    """Where an endpoint of ours is, and whose it is. ``device``: name, PCI address, GUID or network device."""

    endpoint: str
    ip: str
    node: str
    device: str
    job: str
    tenant: str | None


class Surroundings(Struct, frozen=True, kw_only=True):
    """What all lanes of an agent share."""

    settings: ProbingSettings
    session: int
    key: bytes | None
    sys: Path


class Lane:
    """Transports of one endpoint."""

    def __init__(self, place: Place, around: Surroundings) -> None:
        self.place = place
        settings = around.settings
        self.bucket = TokenBucket(settings.max_pps, max(1.0, settings.max_pps * BURST_S))
        self._wanted = settings.transport
        self._fairness = Fairness(settings.answers_per_s, settings.answers_per_asker)
        self.responder = Responder(place.endpoint, around.session, around.key, self._fairness)
        own = place.ip, settings.port
        self.udp = UdpTransport(own, self.responder, around.key, settings.traffic_class)
        self.transports: dict[ProbeKind, Transport] = {"udp": self.udp}
        self._has_device = False
        self._inventory = Inventory(around.sys)
        if settings.transport == "tcp":
            self.transports["tcp"] = TcpTransport(place.ip, settings.port)
        if settings.transport in ("auto", "rdma"):
            device = Device(place.device, place.ip, sys=around.sys, traffic_class=settings.traffic_class)
            qkey = int.from_bytes(os.urandom(4), "big")
            self.transports["rdma"] = RdmaTransport(device, self.responder, around.key, qkey)
        self.open: set[ProbeKind] = set()
        self.why: dict[ProbeKind, str] = {}
        self._again_us: dict[ProbeKind, int] = {}
        self._refresh_us = 0

    def limit(self, settings: ProbingSettings) -> None:
        """From now on other rates."""
        self.bucket.limit(settings.max_pps, max(1.0, settings.max_pps * BURST_S))
        self._fairness.limit(settings.answers_per_s, settings.answers_per_asker)

    def tend(self, now: Now) -> list[ProbeKind]:
        """Opens what is not open yet; returns the names of transports that were opened now."""
        opened: list[ProbeKind] = []
        for name, transport in self.transports.items():
            if name not in self.open and now.mono_us >= self._again_us.get(name, 0) and self._is_there(name, now):
                try:
                    transport.open()
                except OSError as error:
                    self.fail(name, error, now)
                else:
                    self.open.add(name)
                    self.why.pop(name, None)
                    opened.append(name)
        if "rdma" in self.open and now.mono_us >= self._refresh_us:
            self._refresh_us = now.mono_us + micros(REFRESH_S)
            self._refresh(now)
        return opened

    def _is_there(self, name: ProbeKind, now: Now) -> bool:
        """Without a device an ``auto`` endpoint is one of UDP; it is looked for again and again."""
        rdma = self.transports[name]
        if not isinstance(rdma, RdmaTransport):
            return True
        with suppress(OSError):  # not to be listed: what was known of the devices stands
            self._inventory.refresh()
        found = self._inventory.choose(self.place.device)
        if found.device is not None and found.port:
            self._has_device = True
            rdma.device = replace(rdma.device, name=found.device.name, port=found.port)
            return True
        if self._wanted == "rdma" or self._has_device:
            self.fail(name, OSError(errno.ENODEV, found.why), now)
        self._again_us[name] = now.mono_us + round(AGAIN_S * SECOND_US)
        return False

    def _refresh(self, now: Now) -> None:
        rdma = self.transports["rdma"]
        assert isinstance(rdma, RdmaTransport)
        try:
            if rdma.refresh():
                log.warning("%s: the GID is now %s", self.place.endpoint, rdma.gid)
        except OSError as error:
            self.fail("rdma", error, now)

    def fail(self, name: ProbeKind, error: OSError, now: Now) -> None:
        """A transport can't be used; it is opened anew later."""
        text = error.strerror or str(error)
        if self.why.get(name) != text:
            log.warning("%s: %s can't be used: %s", self.place.endpoint, name, text)
        self.transports[name].close()
        self.open.discard(name)
        self.why[name] = text
        self._again_us[name] = now.mono_us + round(AGAIN_S * SECOND_US)
        if isinstance(error, NoVerbsError) and self._wanted == "auto":
            self._again_us[name] = 1 << 62  # it will not be installed while we run: an endpoint of UDP

    @property
    def usual(self) -> ProbeKind:
        """The transport that is meant for peers of which nothing is known yet."""
        return self._wanted if self._wanted != "auto" else "rdma" if self._uses_rdma else "udp"

    def choose(self, peer: Peer) -> tuple[ProbeKind, str | None, bool]:
        """(transport for a peer, why it can't be used or None, whether that is the peer's doing)."""
        name = self.usual
        if self._wanted == "auto" and not peer.qpn:
            name = "udp"
        if name not in self.open:
            return name, self.why.get(name, f"{name} is not open yet"), False
        if name == "rdma" and not peer.qpn:
            return name, f"{peer.endpoint} has told no RDMA queue pair", True
        return name, None, False

    @property
    def _uses_rdma(self) -> bool:
        return self._has_device and self._again_us.get("rdma", 0) < 1 << 62

    @property
    def is_polled(self) -> bool:
        """Whether some transport must be asked at short intervals."""
        return any(self.transports[name].is_polled for name in self.open)

    @property
    def gid(self) -> str | None:
        """The GID in use, as the kernel writes it."""
        rdma = self.transports.get("rdma")
        if "rdma" not in self.open or not isinstance(rdma, RdmaTransport) or rdma.gid is None:
            return None
        return gid_text(rdma.gid.packed)

    def close(self) -> None:
        """Gives everything back."""
        for name in self.open:
            self.transports[name].close()
        self.open.clear()
