"""Verbs in memory, whose devices stamp completions by clocks of their own: what no device here does.

Only what ``collectors.probing.rdma_port`` uses, by the names of pyverbs. Datagrams pass from device to device at once;
each completion is stamped with the device's clock, which tests set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address
from types import SimpleNamespace
from typing import Any

KHZ = 500_000
"""Ticks of two nanoseconds."""

CONSTANTS = {"IBV_WC_EX_WITH_BYTE_LEN": 1, "IBV_WC_EX_WITH_SRC_QP": 2, "IBV_WC_EX_WITH_COMPLETION_TIMESTAMP": 4}


class PyverbsError(Exception):
    """As pyverbs raises it."""


class Device:
    """One device: its address, its clock (ns), its queue pairs and what they got."""

    def __init__(self, gid: bytes, clock_ns: int) -> None:
        self.gid = gid
        self.clock_ns = clock_ns
        self.pairs: dict[int, Any] = {}
        self.done: deque[SimpleNamespace] = deque()

    def complete(self, **fields: Any) -> None:
        self.done.append(SimpleNamespace(status=0, ticks=self.clock_ns * KHZ // 1_000_000, **fields))


class SoftVerbs:
    """The modules of pyverbs; ``lost``: datagrams go nowhere."""

    error = PyverbsError

    def __init__(self, devices: dict[str, Device]) -> None:
        self.devices = devices
        self.unreachable: set[bytes] = set()
        self.lost = False
        self._numbers = iter(range(17, 10_000))
        make = SimpleNamespace
        self.device = make(Context=self._context)
        self.pd = make(PD=lambda context: context)
        self.cq = make(CqInitAttrEx=make, CQEX=self._cqex, PollCqAttr=make)
        self.mr = make(MR=lambda _pd, length, _access: Memory(length))
        self.qp = make(QPCap=make, QPInitAttr=make, QPAttr=make, QP=self._qp)
        self.wr = make(SGE=lambda address, size, _key: make(address=address, size=size), RecvWR=make, SendWR=Send)
        self.addr = make(GID=str, GlobalRoute=make, AHAttr=make, AH=self._ah)

    def constant(self, name: str) -> int:
        return CONSTANTS.get(name, 0)

    @contextmanager
    def as_os_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except PyverbsError as error:
            raise OSError(error.args[1], f"{what}: {error.args[0]}") from None

    def _context(self, name: str) -> SimpleNamespace:
        device = self.devices[name]
        return SimpleNamespace(
            device=device,
            query_device_ex=lambda: SimpleNamespace(hca_core_clock=KHZ),
            query_rt_values_ex=lambda: (0, device.clock_ns * KHZ // 1_000_000),
            close=device.pairs.clear,
        )

    def _cqex(self, context: Any, _attributes: Any) -> Queue:
        return Queue(context.device)

    def _ah(self, _pd: Any, attr: Any) -> bytes:
        gid = IPv6Address(attr.gr.dgid).packed
        if gid in self.unreachable:
            raise PyverbsError("Connection timed out", 110)
        return gid

    def _qp(self, context: Any, _init: Any, _attributes: Any) -> Pair:
        pair = Pair(self, context.device, next(self._numbers))
        context.device.pairs[pair.qp_num] = pair
        return pair


class Memory:
    """One region of memory, found again by its address."""

    def __init__(self, length: int) -> None:
        self.data = bytearray(length)
        self.buf = id(self) << 20
        self.lkey = 1
        Memory.regions[self.buf] = self

    regions: dict[int, Memory] = {}

    def read(self, size: int, offset: int) -> bytes:
        return bytes(self.data[offset : offset + size])

    def write(self, data: bytes, size: int, offset: int) -> None:
        self.data[offset : offset + size] = data


def place(address: int) -> tuple[Memory, int]:
    base = address >> 20 << 20
    return Memory.regions[base], address - base


class Send(SimpleNamespace):
    """A send request."""

    def set_wr_ud(self, handle: bytes, qpn: int, qkey: int) -> None:
        self.to = handle, qpn, qkey


class Pair:
    """One queue pair of datagrams."""

    def __init__(self, verbs: SoftVerbs, device: Device, number: int) -> None:
        self.qp_num = number
        self._verbs, self._device = verbs, device
        self._receives: deque[Any] = deque()

    def post_recv(self, request: Any) -> None:
        self._receives.append(request)

    def post_send(self, request: Send) -> None:
        memory, at = place(request.sg[0].address)
        self._device.complete(wr_id=request.wr_id, size=0, src_qp=0)
        gid, qpn, _ = request.to
        for device in self._verbs.devices.values():
            if device.gid == gid and qpn in device.pairs and not self._verbs.lost:
                device.pairs[qpn].arrive(memory.read(request.sg[0].size, at), self._device.gid, self.qp_num)

    def arrive(self, data: bytes, source: bytes, src_qp: int) -> None:
        if self._receives:
            request = self._receives.popleft()
            memory, at = place(request.sg[0].address)
            header = b"\x60" + bytes(7) + source + bytes(16)
            memory.write(header + data, len(header + data), at)
            self._device.complete(wr_id=request.wr_id, size=len(header + data), src_qp=src_qp)


class Queue:
    """An extended completion queue."""

    def __init__(self, device: Device) -> None:
        self._device = device

    @property
    def wr_id(self) -> int:
        return int(self._device.done[0].wr_id)

    @property
    def status(self) -> int:
        return int(self._device.done[0].status)

    def start_poll(self, _attributes: Any) -> int:
        return 0 if self._device.done else 2

    def poll_next(self) -> int:
        self._device.done.popleft()
        return 0 if self._device.done else 2

    def end_poll(self) -> None:
        pass

    def read_byte_len(self) -> int:
        return int(self._device.done[0].size)

    def read_src_qp(self) -> int:
        return int(self._device.done[0].src_qp)

    def read_timestamp(self) -> int:
        return int(self._device.done[0].ticks)
