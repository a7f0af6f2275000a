"""Probes as TCP connections: the fallback where neither RDMA nor UDP passes. One connection a probe.

The kernel's own measurement of the handshake (``TCP_INFO``, ``tcpi_rtt``) is the RTT, so the agent's waiting is not
in it. A refused connection (RST) is an answer too: the peer's host was reached; its RTT is taken in software.
Connections are closed with RST, so no port is held afterwards. There is no responder delay: the kernel answers.
Readiness is that of the endpoint map alone: a hello would need UDP.

Cost: 60 us a probe.
"""

from __future__ import annotations

import errno
import ipaddress
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator

from msgspec import Struct

from collectors.probing.timing import Stamps, split
from collectors.probing.transport import Answered, Completion, Failed, Probe, UnsentError
from schemas.probing import ProbeKind, Timestamps

MOST_AT_ONCE = 128
ACCEPTED_AT_ONCE = 64
FORGET_NS = 10_000_000_000
ABORT = struct.pack("@ii", 1, 0)
TCP_INFO_RTT = 68
"""Offset of ``tcpi_rtt`` (us) in struct tcp_info of linux/tcp.h, the same since 2.6."""


class Connecting(Struct):
    """A connection that is being set up."""

    seq: int
    socket: socket.socket
    posted_ns: int


class TcpTransport:
    """See ``collectors.probing.transport.Transport``."""

    kind: ProbeKind = "tcp"
    is_polled = False

    def __init__(self, ip: str, port: int) -> None:
        self._ip, self._port = ip, port
        self._family = socket.AF_INET6 if ipaddress.ip_address(ip).version == 6 else socket.AF_INET
        self._listener: socket.socket | None = None
        self._epoll: select.epoll | None = None
        self._connecting: dict[int, Connecting] = {}

    def open(self) -> None:
        """Listens, so that others can probe this endpoint."""
        listener = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._ip, self._port))
            listener.listen(ACCEPTED_AT_ONCE)
        except OSError as error:
            listener.close()
            raise OSError(error.errno, f"TCP {self._ip} port {self._port}: {error.strerror}") from None
        self._listener = listener
        self._epoll = select.epoll()
        self._epoll.register(listener.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Readable when a connection came about or failed."""
        assert self._epoll is not None
        return self._epoll.fileno()

    def send(self, probe: Probe) -> int | None:
        """See ``Transport.send``."""
        now_ns = time.monotonic_ns()
        self._forget(now_ns)
        if len(self._connecting) >= MOST_AT_ONCE:
            raise UnsentError(f"{MOST_AT_ONCE} TCP connections are waiting already")
        opened = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
        sport = self._bind(opened, probe.sport)
        error = opened.connect_ex((probe.to.ip, self._port))
        if error not in (0, errno.EINPROGRESS):
            opened.close()
            raise UnsentError(f"TCP to {probe.to.ip}: {errno.errorcode.get(error, error)}")
        assert self._epoll is not None
        self._connecting[opened.fileno()] = Connecting(probe.seq, opened, now_ns)
        self._epoll.register(opened.fileno(), select.EPOLLOUT)
        return sport

    def _bind(self, opened: socket.socket, sport: int) -> int:
        """The plan's source port, or any other if it is taken."""
        for port in (sport, 0):
            try:
                opened.bind((self._ip, port))
                return int(opened.getsockname()[1])
            except OSError as error:
                if error.errno != errno.EADDRINUSE or port == 0:
                    opened.close()
                    raise UnsentError(f"TCP from {self._ip} port {port}: {error.strerror}") from None
        raise AssertionError("unreachable")

    def poll(self) -> Iterator[Completion]:
        """See ``Transport.poll``."""
        assert self._epoll is not None and self._listener is not None
        for fd, _ in self._epoll.poll(0):
            if fd == self._listener.fileno():
                self._accept()
            elif fd in self._connecting:
                yield self._finish(self._connecting.pop(fd))

    def _accept(self) -> None:
        assert self._listener is not None
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:
                continue  # the prober has gone again already
            accepted.close()  # not with RST: it could overtake the prober's look at the handshake

    def _finish(self, done: Connecting) -> Completion:
        seen_ns = time.monotonic_ns()
        error = done.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        rtt_ns = seen_ns - done.posted_ns
        by_kernel = False
        if error == 0:
            info = done.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_RTT + 4)
            measured_us = int.from_bytes(info[TCP_INFO_RTT : TCP_INFO_RTT + 4], sys.byteorder)
            rtt_ns, by_kernel = (measured_us * 1000, True) if measured_us else (rtt_ns, False)
        done.socket.close()
        if error not in (0, errno.ECONNREFUSED, errno.ECONNRESET):
            return Failed(done.seq, "network", f"TCP: {errno.errorcode.get(error, error)}")
        by: Timestamps = "kernel" if by_kernel else "software"
        return Answered(done.seq, split(Stamps(done.posted_ns, 0, rtt_ns, seen_ns, None, None, by)))

    def _forget(self, now_ns: int) -> None:
        while self._connecting:
            fd, oldest = next(iter(self._connecting.items()))
            if now_ns - oldest.posted_ns < FORGET_NS:
                return
            del self._connecting[fd]
            oldest.socket.close()

    def close(self) -> None:
        """Gives all sockets back."""
        for connecting in self._connecting.values():
            connecting.socket.close()
        self._connecting.clear()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._epoll is not None:
            self._epoll.close()
            self._epoll = None
