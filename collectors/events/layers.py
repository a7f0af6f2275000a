"""Is what is said of a link a second time another flap? Most switches tell of the wire and of the protocol on it.

IOS and IOS XR write ``LINK-3-UPDOWN`` and ``LINEPROTO-5-UPDOWN`` for one cause, a second apart and in either order,
H3C ``PHY_UPDOWN`` and ``LINK_UPDOWN``, Junos a trap of the port and one of its unit, Cumulus' switchd the carrier that
it sets and what the kernel then says; on a host, kernels from 6.14 on tell of the network device and of the RDMA
device's port. The second of them is told as ``carrier``, ``info``: evidence, but no second ``port_down``, as flaps are
counted by those. EOS, which tells of one of the two only, is taken at its word.
"""

from __future__ import annotations

from msgspec.structs import replace

from collectors.events.notices import Notice
from schemas.instants import SECOND_US

APART_US = 5 * SECOND_US
MOST_PORTS = 20_000


class Layers:
    """Follows the ports of one source. Memory: one entry a port; beyond ``MOST_PORTS`` all are forgotten."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, str, int]] = {}

    def step(self, notice: Notice, t_us: int) -> Notice:
        """The notice, or what it is if the other layer has said so already."""
        layer = notice.values.get("layer")
        if notice.code not in ("port_down", "port_up") or not isinstance(layer, str):
            return notice
        before = self._told.get(notice.subject.name)
        if before is not None and before[0] == notice.code and before[1] != layer and t_us - before[2] <= APART_US:
            return replace(notice, code="carrier", severity="info")
        if len(self._told) >= MOST_PORTS:
            self._told.clear()
        self._told[notice.subject.name] = notice.code, layer, t_us
        return notice
