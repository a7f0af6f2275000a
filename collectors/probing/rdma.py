"""Probes as RDMA datagrams: the packets take the way of the job's own traffic, through the RNIC's hardware.

One pool of queue pairs per RNIC both probes and answers. Where the device stamps completions, T1, T2 and T4 are its
own (T3 is read from its clock just before the answer is handed over); elsewhere they are the agent's, and the answer
tells which.

A queue pair in error, or a device that is gone, makes ``poll`` raise ``OSError``: the owner closes this transport
and opens it anew, and what was on its way proves nothing. The GID table is read again once a second (``refresh``);
when our GID or its index has changed, all address handles are made anew.

A next hop that does not resolve is the network's failure, not ours: such a probe counts as sent and lost. Since the
kernel tries for a second meanwhile and nothing else is done, it is tried again only after ``UNRESOLVED_NS``.

Datagrams have no acknowledgement: loss shows as a missing reply only. Cost: 50 us a probe or answer with pyverbs.
"""

from __future__ import annotations

import errno
import select
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from collectors.probing.gids import (
    Gid,
    choose_gid,
    driver_of,
    gid_text,
    packed_address,
    read_gid,
    read_gids,
    source_gid,
)
from collectors.probing.packet import SIZE, Kind, Packet, target_of, write_packet
from collectors.probing.rdma_port import HEADER, RdmaPort, Target, Work
from collectors.probing.responder import RdmaAddress, Responder
from collectors.probing.source_ports import POOL, Rule, rule_of, way_for
from collectors.probing.timing import Stamps, split, with_level
from collectors.probing.transport import Answered, Completion, Failed, Probe, UnsentError
from collectors.probing.verbs import Verbs
from schemas.probing import ProbeKind, Timestamps

MOST_HANDLES = 4096
FORGET_NS = 10_000_000_000
UNRESOLVED_NS = 5_000_000_000
LOOK_AGAIN = 30
NO_ANSWER = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)


class Sending(Struct):
    """A probe on its way: when it was posted, and when it left."""

    probe: Probe
    posted_ns: int
    t1_ns: int
    by_device: bool = False


class Device(Struct, frozen=True):
    """Which device and port, where its entry in sysfs is, and the address that it is probed at."""

    name: str
    ip: str
    port: int = 1
    sys: Path = Path("/sys")
    traffic_class: int = 0


class RdmaTransport:
    """See ``collectors.probing.transport.Transport``."""

    kind: ProbeKind = "rdma"

    def __init__(self, device: Device, responder: Responder, key: bytes | None, qkey: int) -> None:
        self.device = device
        self.gid: Gid | None = None
        self._responder = responder
        self._key = key
        self._qkey = qkey & 0x7FFFFFFF  # the highest bit would ask for the queue pair's own key
        self._rule: Rule = "unknown"
        self._port: RdmaPort | None = None
        self._epoll: select.epoll | None = None
        self._sending: dict[int, Sending] = {}
        self._in_slot: dict[int, int] = {}
        self._handles: OrderedDict[tuple[bytes, int], Any] = OrderedDict()
        self._unresolved: dict[bytes, int] = {}
        self._failed: list[Failed] = []
        self._refreshed = 0

    @property
    def is_polled(self) -> bool:
        """Whether completions do not show on ``fileno``."""
        return self._port is None or self._port.fd < 0

    def open(self) -> None:
        """See ``Transport.open``."""
        verbs = Verbs()
        self._rule = rule_of(driver_of(self.device.sys, self.device.name))
        self.gid = self._own_gid()
        pool = POOL if self._rule == "queue pair" else 1
        self._port = RdmaPort(verbs, (self.device.name, self.device.port), pool, self._qkey)
        self._epoll = select.epoll()
        if self._port.fd >= 0:
            self._epoll.register(self._port.fd, select.EPOLLIN)
        self._tell()

    def _own_gid(self) -> Gid:
        gid = choose_gid(read_gids(self.device.sys, self.device.name, self.device.port), self.device.ip)
        if gid is None:
            raise OSError(errno.EADDRNOTAVAIL, f"RDMA device {self.device.name} has no GID")
        return gid

    def _tell(self) -> None:
        assert self._port is not None and self.gid is not None
        self._responder.rdma = RdmaAddress(self.gid.packed, self._port.qpns[0], self._qkey)

    def refresh(self) -> bool:
        """Reads our GID's entry again, all of them if it has changed; True: our GID or its index has changed.

        An entry that is not of our own address was chosen for want of a better one, which may be there now.

        Raises:
            OSError: the device or its GIDs are gone.
        """
        assert self.gid is not None
        device = self.device
        self._refreshed += 1
        is_own = self.gid.packed == packed_address(device.ip)
        is_same = read_gid(device.sys, device.name, self.gid.index, device.port) == self.gid
        if is_same and (is_own or self._refreshed % LOOK_AGAIN):
            return False
        gid = self._own_gid()
        if gid == self.gid:
            return False
        self.gid = gid
        self._handles.clear()
        self._unresolved.clear()
        self._tell()
        return True

    def fileno(self) -> int:
        """Readable when a completion came."""
        assert self._epoll is not None
        return self._epoll.fileno()

    def send(self, probe: Probe) -> int | None:
        """See ``Transport.send``."""
        port, to = self._port, probe.to
        if port is None or to.gid is None or to.qpn == 0:
            raise UnsentError(f"{to.endpoint} has told no RDMA address")
        through, label, sport = way_for(probe.sport, self._rule, port.qpns)
        now_ns = time.monotonic_ns()
        if now_ns - self._unresolved.get(to.gid, -UNRESOLVED_NS) < UNRESOLVED_NS:
            raise UnsentError(f"the next hop to {gid_text(to.gid)} did not answer just now")
        try:
            handle = self._handle(to.gid, label)
        except OSError as error:
            if error.errno not in NO_ANSWER:
                raise UnsentError(error.strerror or str(error)) from None
            self._unresolved[to.gid] = time.monotonic_ns()
            self._failed.append(Failed(probe.seq, "network", f"the next hop to {gid_text(to.gid)} does not answer"))
            return sport
        self._post(probe, Target(handle, to.qpn, to.qkey, through))
        return sport

    def _post(self, probe: Probe, target: Target) -> None:
        assert self._port is not None
        posted_ns = time.monotonic_ns()
        packet = Packet(
            kind=Kind.PROBE,
            sport=probe.sport,
            session=self._responder.session,
            seq=probe.seq,
            target=target_of(probe.to.endpoint),
            sent_ns=posted_ns,
            qkey=self._qkey,
        )
        try:
            slot = self._port.post_send(write_packet(packet, self._key), target)
        except OSError as error:
            raise UnsentError(error.strerror or str(error)) from None
        if slot is None:
            raise UnsentError(f"the send queue of {self.device.name} is full")
        self._in_slot[slot] = probe.seq
        self._sending[probe.seq] = Sending(probe, posted_ns, posted_ns)
        self._forget(posted_ns)

    def _handle(self, gid: bytes, label: int) -> Any:
        assert self._port is not None and self.gid is not None
        label = label if self._rule == "flow label" else 0
        known = self._handles.get((gid, label))
        if known is None:
            known = self._port.address(gid, self.gid.index, label, self.device.traffic_class)
            self._handles[gid, label] = known
            if len(self._handles) > MOST_HANDLES:
                self._handles.popitem(last=False)
        self._handles.move_to_end((gid, label))
        return known

    def _forget(self, now_ns: int) -> None:
        while self._sending:
            seq, oldest = next(iter(self._sending.items()))
            if now_ns - oldest.posted_ns < FORGET_NS:
                return
            del self._sending[seq]

    def poll(self) -> Iterator[Completion]:
        """See ``Transport.poll``.

        Raises:
            OSError: a queue pair is in error or the device is gone; close and open anew.
        """
        assert self._port is not None
        failed, self._failed = self._failed, []
        yield from failed
        for work in list(self._port.works()):
            if work.status != 0:
                raise OSError(errno.EIO, f"RDMA device {self.device.name}: completion with status {work.status}")
            if work.is_send:
                self._note_left(work)
                continue
            header, data = self._port.read(work.slot)
            if work.size >= HEADER + SIZE:
                yield from self._take(work, header, data)
            self._port.post_receive(work.slot)

    def _note_left(self, work: Work) -> None:
        assert self._port is not None
        self._port.free(work.slot)
        sending = self._sending.get(self._in_slot.pop(work.slot, -1))
        if sending is not None and work.t_ns is not None:
            sending.t1_ns, sending.by_device = work.t_ns, True

    def _take(self, work: Work, header: bytes, data: bytes) -> Iterator[Completion]:
        seen_ns = time.monotonic_ns()
        packet = self._responder.read(data)
        if packet is None:
            return
        if packet.kind is Kind.PROBE:
            self._answer(work, packet, source_gid(header), seen_ns)
        elif packet.kind is Kind.REPLY and packet.session == self._responder.session:
            sending = self._sending.pop(packet.seq, None)
            if sending is not None and packet.target == target_of(sending.probe.to.endpoint):
                yield Answered(packet.seq, split(_stamps(work, packet, sending, seen_ns)))

    def _answer(self, work: Work, packet: Packet, gid: bytes, seen_ns: int) -> None:
        assert self._port is not None
        by_device = work.t_ns is not None and self._port.clock_ns() is not None
        by: Timestamps = "hardware" if by_device else "software"
        received_ns = work.t_ns if by_device and work.t_ns is not None else seen_ns
        answer = self._responder.answer(packet, gid, received_ns, by)
        if answer is None or time.monotonic_ns() - self._unresolved.get(gid, -UNRESOLVED_NS) < UNRESOLVED_NS:
            return
        through, label, _ = way_for(packet.sport, self._rule, self._port.qpns)
        try:
            target = Target(self._handle(gid, label), work.src_qp, packet.qkey, through)
            now_ns = self._port.clock_ns() if by_device else None
            answer = replace(answer, answered_ns=time.monotonic_ns() if now_ns is None else now_ns)
            self._port.post_send(write_packet(answer, self._key), target)
        except OSError as error:
            if error.errno in NO_ANSWER:
                self._unresolved[gid] = time.monotonic_ns()

    def close(self) -> None:
        """See ``Transport.close``."""
        self._responder.rdma = None
        self._handles.clear()
        self._sending.clear()
        self._in_slot.clear()
        if self._port is not None:
            self._port.close()
            self._port = None
        if self._epoll is not None:
            self._epoll.close()
            self._epoll = None


def _stamps(work: Work, packet: Packet, sending: Sending, seen_ns: int) -> Stamps:
    by_device = work.t_ns is not None and sending.by_device
    t4_ns = work.t_ns if by_device and work.t_ns is not None else seen_ns
    return Stamps(
        posted_ns=sending.posted_ns,
        t1_ns=sending.t1_ns if by_device else sending.posted_ns,
        t4_ns=t4_ns,
        seen_ns=seen_ns,
        t2_ns=packet.received_ns,
        t3_ns=packet.answered_ns,
        by=with_level("hardware" if by_device else "software", packet.qpn),
    )
