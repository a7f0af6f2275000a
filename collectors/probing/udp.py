"""Probes over UDP, with the kernel's time stamps: the fallback where no RDMA is, the way to say hello, and traceroute.

The endpoint's own socket (``ip``, ``port``) answers others and says hello. Each source port of a plan gets a socket
of its own, so that the fabric hashes it as the plan wants; the one used longest ago is given back beyond
``MOST_PORTS``. A source port that somebody else holds is not to be had: the probe then leaves from the endpoint's
own port, and the result says which.

Every packet's ICMP answer comes with the packet, so it is known which probe expired or met a closed port. Routers
that quote too little of it are matched by number only if one probe is on its way there; otherwise the answer is not
used.
"""

from __future__ import annotations

import errno
import select
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from collectors.probing.packet import Kind, Packet, read_packet, target_of, write_packet
from collectors.probing.responder import Responder
from collectors.probing.timing import Stamps, split, with_level
from collectors.probing.transport import (
    Answered,
    Completion,
    Expired,
    Failed,
    Located,
    Overflowed,
    Peer,
    Probe,
    UnsentError,
)
from collectors.probing.udp_socket import Datagram, IcmpError, SendStamp, UdpSocket
from schemas.probing import ProbeKind, Timestamps

MOST_PORTS = 64
FORGET_NS = 10_000_000_000
MANY = 64
"""Only a queue that was long can have run over."""

ABSENT = {errno.ECONNREFUSED}
UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENOPROTOOPT, errno.EACCES}


class Sending(Struct):
    """A probe that is on its way: when it was posted and, once the kernel has said so, sent."""

    probe: Probe
    posted_ns: int
    t1_ns: int
    by_kernel: bool = False


class UdpTransport:
    """See ``collectors.probing.transport.Transport``; also ``hello``."""

    kind: ProbeKind = "udp"
    is_polled = False

    def __init__(
        self, own: tuple[str, int], responder: Responder, key: bytes | None = None, traffic_class: int = 0
    ) -> None:
        self._ip, self._port = own
        self._key = key
        self._responder = responder
        self._class = traffic_class
        self._sockets: OrderedDict[int, UdpSocket] = OrderedDict()
        self._by_fd: dict[int, UdpSocket] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        self._sending: dict[int, Sending] = {}
        self._early: list[Completion] = []
        self._epoll: select.epoll | None = None

    def open(self) -> None:
        """Binds the endpoint's own socket."""
        try:
            own = UdpSocket(self._ip, self._port, self._class)
        except OSError as error:
            raise OSError(error.errno, f"UDP {self._ip} port {self._port}: {error.strerror}") from None
        self._epoll = select.epoll()
        self._add(self._port, own)

    def _add(self, port: int, opened: UdpSocket) -> None:
        assert self._epoll is not None
        self._sockets[port] = opened
        self._by_fd[opened.fileno()] = opened
        self._epoll.register(opened.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Readable when anything came in."""
        assert self._epoll is not None
        return self._epoll.fileno()

    def send(self, probe: Probe) -> int | None:
        """See ``Transport.send``."""
        return self._send(probe, Kind.PROBE)

    def hello(self, seq: int, to: Peer) -> None:
        """Asks a peer where its queue pair is.

        Raises:
            UnsentError: the local side can't.
        """
        self._send(Probe(seq=seq, to=to, sport=self._port), Kind.HELLO)

    def _send(self, probe: Probe, kind: Kind) -> int:
        used = self._socket_for(probe.sport)
        posted_ns, t1_ns = time.monotonic_ns(), time.time_ns()
        packet = Packet(
            kind=kind,
            sport=used.port,
            session=self._responder.session,
            seq=probe.seq,
            target=target_of(probe.to.endpoint),
            sent_ns=t1_ns,
        )
        try:
            to = probe.to.ip, probe.dport or self._port
            number = used.probe(write_packet(packet, self._key), to, probe.ttl)
        except OSError as error:
            raise UnsentError(f"UDP to {probe.to.ip}: {error.strerror}") from None
        self._sending[probe.seq] = Sending(probe, posted_ns, t1_ns)
        self._numbers[used.port, number] = probe.seq
        queued = used.next_error()
        if queued is not None:
            self._early += self._take_error(used, queued)
        self._forget(posted_ns)
        return used.port

    def _socket_for(self, sport: int) -> UdpSocket:
        if sport not in self._sockets:
            try:
                self._add(sport, UdpSocket(self._ip, sport, self._class))
            except OSError:
                return self._sockets[self._port]
            if len(self._sockets) > MOST_PORTS:
                self._drop(next(port for port in self._sockets if port != self._port))
        self._sockets.move_to_end(sport)
        return self._sockets[sport]

    def _drop(self, port: int) -> None:
        dropped = self._sockets.pop(port)
        del self._by_fd[dropped.fileno()]
        dropped.close()

    def _forget(self, now_ns: int) -> None:
        """Dictionaries keep their order, so what is too old is in front."""
        while self._sending:
            seq, sending = next(iter(self._sending.items()))
            if now_ns - sending.posted_ns < FORGET_NS:
                break
            del self._sending[seq]
        while len(self._numbers) > 2 * len(self._sending) + MOST_PORTS:
            del self._numbers[next(iter(self._numbers))]

    def poll(self) -> Iterator[Completion]:
        """See ``Transport.poll``. Send stamps are read before the replies that they belong to."""
        assert self._epoll is not None
        early, self._early = self._early, []
        yield from early
        for fd, events in self._epoll.poll(0):
            used = self._by_fd.get(fd)
            if used is None:
                continue
            if events & select.EPOLLERR:
                for error in used.errors():
                    yield from self._take_error(used, error)
            if events & select.EPOLLIN:
                yield from self._receive(used)

    def _receive(self, used: UdpSocket) -> Iterator[Completion]:
        count = 0
        for datagram in used.datagrams():
            count += 1
            yield from self._take(used, datagram)
        if count >= MANY and (drops := used.take_drops()):
            yield Overflowed(drops)

    def _take_error(self, used: UdpSocket, error: SendStamp | IcmpError) -> Iterator[Completion]:
        if isinstance(error, SendStamp):
            sending = self._sending.get(self._numbers.pop((used.port, error.number), -1))
            if sending is not None and error.t_ns >= sending.t1_ns:  # else it is of an earlier count
                sending.t1_ns, sending.by_kernel = error.t_ns, True
            return
        seq = self._seq_of(error)
        sending = self._sending.get(seq) if seq is not None else None
        if seq is None or sending is None:
            return
        del self._sending[seq]
        if sending.probe.ttl is not None and error.offender is not None and error.offender != sending.probe.to.ip:
            yield Expired(seq, error.offender)
        elif error.error in ABSENT:
            yield Failed(seq, "absent", f"nobody listens at {error.target[0]} port {error.target[1]}")
        elif error.error in UNREACHABLE:
            yield Failed(seq, "network", f"{error.target[0]} is unreachable, says {error.offender or 'this host'}")

    def _seq_of(self, error: IcmpError) -> int | None:
        try:
            packet = read_packet(error.data, self._key)
        except ValueError:
            there = [seq for seq, s in self._sending.items() if s.probe.to.ip == error.target[0]]
            return there[0] if len(there) == 1 else None
        return packet.seq if packet.session == self._responder.session else None

    def _take(self, used: UdpSocket, datagram: Datagram) -> Iterator[Completion]:
        packet = self._responder.read(datagram.data)
        if packet is None:
            return
        if packet.kind in (Kind.PROBE, Kind.HELLO):
            self._answer(used, datagram, packet)
        elif packet.session == self._responder.session and packet.seq in self._sending:
            sending = self._sending.pop(packet.seq)
            if packet.target != target_of(sending.probe.to.endpoint):
                return
            yield self._located(packet, sending) if packet.kind is Kind.HERE else _answered(packet, sending, datagram)

    def _answer(self, used: UdpSocket, datagram: Datagram, packet: Packet) -> None:
        by: Timestamps = "kernel" if datagram.by_kernel else "software"
        answer = self._responder.answer(packet, datagram.source[0], datagram.t_ns, by)
        if answer is None:
            return
        is_here = answer.kind is Kind.HERE
        answer = replace(answer, answered_ns=self._responder.session if is_here else time.time_ns())
        with suppress(OSError):  # the asker will find it lost; nothing of ours depends on it
            used.answer(write_packet(answer, self._key), datagram.source)

    def _located(self, packet: Packet, sending: Sending) -> Located:
        gid = packet.gid if any(packet.gid) else None
        return Located(sending.probe.to.endpoint, packet.answered_ns, gid, packet.qpn, packet.qkey)

    def close(self) -> None:
        """Gives all sockets back."""
        for port in list(self._sockets):
            self._drop(port)
        if self._epoll is not None:
            self._epoll.close()
            self._epoll = None


def _answered(packet: Packet, sending: Sending, datagram: Datagram) -> Answered:
    stamps = Stamps(
        posted_ns=sending.posted_ns,
        t1_ns=sending.t1_ns,
        t4_ns=datagram.t_ns,
        seen_ns=time.monotonic_ns(),
        t2_ns=packet.received_ns,
        t3_ns=packet.answered_ns,
        by=with_level("kernel" if sending.by_kernel and datagram.by_kernel else "software", packet.qpn),
    )
    return Answered(packet.seq, split(stamps))
