"""A peer on a real socket that answers hellos as an agent does, and probes as a test wants."""

from __future__ import annotations

import heapq
import select
import socket
import threading
import time
from collections.abc import Callable

from collectors.probing.packet import Kind, Packet, read_packet, target_of, write_packet

Treatment = Callable[[Packet], float | None]
"""Seconds to wait before a probe is answered; None: never."""


class MisbehavingPeer:
    """Endpoint ``name`` at ``ip``, ``port``; runs in a thread of its own until the ``with`` block ends."""

    def __init__(self, name: str, address: tuple[str, int], treatment: Treatment, session: int = 4711) -> None:
        self.treatment = treatment
        self.session = session
        self.largest_reply = 0
        self._target = target_of(name)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._waiting: list[tuple[float, int, bytes, tuple[str, int]]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> MisbehavingPeer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        count = 0
        while not self._ended.is_set():
            if select.select([self._socket], [], [], 0.005)[0]:
                data, source = self._socket.recvfrom(2048)
                count += 1
                self._take(read_packet(data), source, count)
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, data, source = heapq.heappop(self._waiting)
                self._socket.sendto(data, source)

    def _take(self, packet: Packet, source: tuple[str, int], count: int) -> None:
        if packet.target != self._target:
            return
        t_ns = time.time_ns()
        kind, wait_s, answered_ns = Kind.HERE, 0.0, self.session
        if packet.kind is Kind.PROBE:
            treated = self.treatment(packet)
            if treated is None:
                return
            kind, wait_s, answered_ns = Kind.REPLY, treated, t_ns
        answer = Packet(
            kind=kind,
            sport=packet.sport,
            session=packet.session,
            seq=packet.seq,
            target=packet.target,
            sent_ns=packet.sent_ns,
            received_ns=t_ns,
            answered_ns=answered_ns,
        )
        heapq.heappush(self._waiting, (time.monotonic() + wait_s, count, write_packet(answer), source))
