"""One opened RDMA device: its queue pairs, memory and completions, in the terms of this package.

All queue pairs are unreliable datagrams on one completion queue. Memory is one region: ``RECEIVES`` slots per queue
pair, of 40 bytes (the network header, written by the device) and a packet, then ``SENDS`` slots of a packet.

Devices that stamp completions get an extended queue; pyverbs 44 can't join one to a completion channel, so it has to
be asked at intervals, which costs no accuracy since the device takes the times. All others get a plain queue with a
channel, whose file descriptor pyverbs does not show: it is the one that appears when the channel is made.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from collectors.probing.packet import SIZE
from collectors.probing.verbs import Verbs

HEADER = 40
RECEIVE_BYTES = 192
RECEIVES, SENDS = 128, 256
SEND_BIT = 1 << 32
BATCH = 256


class Work(Struct, frozen=True):
    """One completion. ``t_ns``: by the device's own clock, None = it does not stamp."""

    slot: int
    is_send: bool
    status: int
    size: int
    src_qp: int
    t_ns: int | None


class Target(Struct, frozen=True):
    """Where a packet goes: address handle, queue pair, key; and through which of our queue pairs."""

    handle: Any
    qpn: int
    qkey: int
    through: int


class RdmaPort:
    """Opens ``device`` (name, port) with ``pool`` queue pairs.

    Raises:
        OSError: it is not there or refuses.
    """

    def __init__(self, verbs: Verbs, device: tuple[str, int], pool: int, qkey: int) -> None:
        self._verbs = verbs
        self.fd = -1
        name, self._number = device
        with verbs.as_os_errors(f"RDMA device {name}"):
            self.context = verbs.device.Context(name=name)
            self._pd = verbs.pd.PD(self.context)
            self._open_queue(pool * RECEIVES + SENDS)
            length = pool * RECEIVES * RECEIVE_BYTES + SENDS * SIZE
            self._memory = verbs.mr.MR(self._pd, length, verbs.constant("IBV_ACCESS_LOCAL_WRITE"))
            self._pairs = [self._open_pair(qkey) for _ in range(pool)]
            self.qpns = [int(pair.qp_num) for pair in self._pairs]
            self._sends_at = pool * RECEIVES * RECEIVE_BYTES
            for slot in range(pool * RECEIVES):
                self.post_receive(slot)
        self._opcode = verbs.constant("IBV_WR_SEND")
        self._signaled = verbs.constant("IBV_SEND_SIGNALED")
        self._free = list(range(SENDS))

    def _open_queue(self, entries: int) -> None:
        v = self._verbs
        self._extended = self._khz = None
        flags = [v.constant(f"IBV_WC_EX_WITH_{name}") for name in ("BYTE_LEN", "SRC_QP", "COMPLETION_TIMESTAMP")]
        with suppress(v.error):  # most devices can't, and say so here
            self._extended = v.cq.CQEX(self.context, v.cq.CqInitAttrEx(cqe=entries, wc_flags=sum(flags)))
            self._khz = int(self.context.query_device_ex().hca_core_clock)
        if self._extended is not None and self._khz:
            return
        self._extended = None
        before = _descriptors()
        self._channel = v.cq.CompChannel(self.context)
        self.fd = next(iter(_descriptors() - before), -1)
        if self.fd >= 0:
            os.set_blocking(self.fd, False)
        self._queue = v.cq.CQ(self.context, entries, None, self._channel, 0)
        self._queue.req_notify()

    def _open_pair(self, qkey: int) -> Any:
        v = self._verbs
        cap = v.qp.QPCap(max_send_wr=SENDS, max_recv_wr=RECEIVES, max_send_sge=1, max_recv_sge=1)
        queue = self._extended or self._queue
        wanted = v.qp.QPInitAttr(qp_type=v.constant("IBV_QPT_UD"), scq=queue, rcq=queue, cap=cap)
        attributes = v.qp.QPAttr(port_num=self._number)
        attributes.qkey = qkey
        return v.qp.QP(self._pd, wanted, attributes)

    @property
    def is_stamped(self) -> bool:
        """Whether the device itself takes the times."""
        return self._extended is not None

    def clock_ns(self) -> int | None:
        """The clock that the completions are stamped with, now; None: it can't be read."""
        if not self.is_stamped:
            return None
        with suppress(self._verbs.error):
            raw = self.context.query_rt_values_ex()
            seconds, ticks = raw if isinstance(raw, tuple) else (raw.tv_sec, raw.tv_nsec)
            return self._ns(int(seconds) * 1_000_000_000 + int(ticks))
        return None

    def _ns(self, ticks: int) -> int:
        return ticks * 1_000_000 // (self._khz or 1_000_000)

    def post_receive(self, slot: int) -> None:
        """Gives a receive slot to the device."""
        v = self._verbs
        element = v.wr.SGE(self._memory.buf + slot * RECEIVE_BYTES, HEADER + SIZE, self._memory.lkey)
        self._pairs[slot // RECEIVES].post_recv(v.wr.RecvWR(wr_id=slot, num_sge=1, sg=[element]))

    def read(self, slot: int) -> tuple[bytes, bytes]:
        """(network header, packet) in a receive slot."""
        data = self._memory.read(HEADER + SIZE, slot * RECEIVE_BYTES)
        return data[:HEADER], data[HEADER:]

    def post_send(self, data: bytes, to: Target) -> int | None:
        """Sends a packet and returns the slot that it is in until its completion; None: all slots are in use.

        Raises:
            OSError: the device refuses.
        """
        if not self._free:
            return None
        v = self._verbs
        slot = self._free.pop()
        at = self._sends_at + slot * SIZE
        self._memory.write(data, SIZE, at)
        element = v.wr.SGE(self._memory.buf + at, SIZE, self._memory.lkey)
        request = v.wr.SendWR(
            wr_id=SEND_BIT | slot, opcode=self._opcode, num_sge=1, sg=[element], send_flags=self._signaled
        )
        request.set_wr_ud(to.handle, to.qpn, to.qkey)
        try:
            with v.as_os_errors("sending"):
                self._pairs[to.through].post_send(request)
        except OSError:
            self._free.append(slot)
            raise
        return slot

    def free(self, slot: int) -> None:
        """A send slot's completion has come."""
        self._free.append(slot)

    def address(self, gid: bytes, own_index: int, flow_label: int, traffic_class: int) -> Any:
        """An address handle. Resolving a new neighbour may hold the kernel, and us, for a second.

        Raises:
            OSError: the next hop does not answer (ETIMEDOUT, EHOSTUNREACH), or the device refuses.
        """
        v = self._verbs
        text = ":".join(f"{gid[i]:02x}{gid[i + 1]:02x}" for i in range(0, 16, 2))
        with v.as_os_errors(f"address handle for {text}"):
            route = v.addr.GlobalRoute(
                dgid=v.addr.GID(text),
                flow_label=flow_label,
                sgid_index=own_index,
                hop_limit=64,
                traffic_class=traffic_class,
            )
            return v.addr.AH(self._pd, attr=v.addr.AHAttr(gr=route, is_global=1, port_num=self._number))

    def works(self) -> Iterator[Work]:
        """Completions since it was asked last.

        Raises:
            OSError: the device is gone.
        """
        with self._verbs.as_os_errors("completions"):
            if self._extended is not None:
                yield from self._extended_works()
                return
            if self.fd >= 0 and select.select([self.fd], [], [], 0)[0]:
                self._channel.get_cq_event(self._queue)
                self._queue.ack_events(1)
                self._queue.req_notify()
            _, found = self._queue.poll(BATCH)
            for wc in found:
                yield Work(wc.wr_id & 0xFFFFFFFF, bool(wc.wr_id & SEND_BIT), wc.status, wc.byte_len, wc.src_qp, None)

    def _extended_works(self) -> Iterator[Work]:
        queue: Any = self._extended
        if queue.start_poll(self._verbs.cq.PollCqAttr()) != 0:
            return
        try:
            for _ in range(BATCH):
                is_send = bool(queue.wr_id & SEND_BIT)
                good = queue.status == 0
                size, src_qp = (queue.read_byte_len(), queue.read_src_qp()) if good and not is_send else (0, 0)
                t_ns = self._ns(queue.read_timestamp()) if good else None
                yield Work(queue.wr_id & 0xFFFFFFFF, is_send, queue.status, size, src_qp, t_ns)
                if queue.poll_next() != 0:
                    return
        finally:
            queue.end_poll()

    def close(self) -> None:
        """Gives the device back; what hangs on the context goes with it."""
        with suppress(self._verbs.error):
            self.context.close()


def _descriptors() -> set[int]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if "infinibandevent" in str(entry.readlink()):
                found.add(int(entry.name))
    return found
