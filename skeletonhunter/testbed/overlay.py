"""What stands in the flow tables? The overlay chain of each flow, as the virtual switch and the RNICs hold it.

The chain of a flow is ``vif:<src>`` -> ``vswitch:<host>`` -> ``tunnel:<host>`` -> ``rnic:<host>/<rnic>`` -> fabric ->
``rnic:`` -> ``tunnel:`` -> ``vswitch:`` -> ``vif:<dst>``. The virtual switch's table holds the rows at ``vif:``,
``vswitch:`` and ``tunnel:``, the RNIC's table the rows at ``rnic:``. Rows are rendered as JSON, all that doesn't change
beforehand. Ages are seconds, counters packets and bytes. Cost: about 0.6 us per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import orjson

from skeletonhunter.testbed.members import Member

VXLAN_PORT = 4789
PACKET_BYTES = 1_100
FlowPath = Literal["hardware", "software"]
Hop = tuple[str, str, str, str]
"""(at, next, match, actions)"""


@dataclass(frozen=True)
class FlowState:
    """What a table knows of a flow: counters, age, offloaded or not, and the way packets were seen to take."""

    packets: int
    idle_s: float
    offloaded: bool = True
    path: FlowPath | None = "hardware"

    def render(self) -> bytes:
        """The changing half of a row."""
        return b'"packets":%d,"bytes":%d,"idle_s":%.3f,"offloaded":%b,"path":%b}' % (
            self.packets,
            self.packets * PACKET_BYTES,
            self.idle_s,
            b"true" if self.offloaded else b"false",
            b"null" if self.path is None else b'"%b"' % self.path.encode(),
        )


@dataclass(frozen=True)
class FlowRows:
    """The unchanging halves of a flow's rows, on one side (at the source, or at the destination)."""

    vswitch: tuple[bytes, ...]
    rnic: bytes

    def in_vswitch(self, state: bytes) -> list[bytes]:
        """The rows of the virtual switch's table; ``state`` is a rendered ``FlowState``."""
        return [fixed + state for fixed in self.vswitch]

    def in_rnic(self, state: bytes) -> bytes:
        """The row of the RNIC's table."""
        return self.rnic + state


def flow_rows(src: Member, dst: Member, flow: str, vni: int, at_source: bool) -> FlowRows:
    """The rows of the flow from ``src`` to ``dst`` on the side of its source or of its destination."""
    hops = _source_hops(src, dst, vni) if at_source else _destination_hops(src, dst, vni)
    fixed = [_fixed(flow, src, dst, hop) for hop in hops]
    return FlowRows(tuple(fixed[:-1]), fixed[-1]) if at_source else FlowRows(tuple(fixed[1:]), fixed[0])


def _source_hops(src: Member, dst: Member, vni: int) -> list[Hop]:
    match = f"ipv4(src={src.ip},dst={dst.ip}),udp(dst=4791)"
    encap = f"set(tunnel(tun_id={vni},dst={dst.host},tp_dst={VXLAN_PORT})),vxlan_sys"
    return [
        (f"vif:{src.endpoint}", f"vswitch:{src.host}", f"in_port({src.vif})", "output:br-int"),
        (f"vswitch:{src.host}", f"tunnel:{src.host}", match, encap),
        (f"tunnel:{src.host}", f"rnic:{src.node}", f"tun_id={vni}", f"output:{src.rnic}"),
        (f"rnic:{src.node}", f"rnic:{dst.node}", match, f"encap(vni={vni}),uplink"),
    ]


def _destination_hops(src: Member, dst: Member, vni: int) -> list[Hop]:
    match = f"ipv4(src={src.ip},dst={dst.ip}),udp(dst=4791)"
    return [
        (f"rnic:{dst.node}", f"tunnel:{dst.host}", f"vni={vni}", f"decap,{dst.vif}"),
        (f"tunnel:{dst.host}", f"vswitch:{dst.host}", f"tun_id={vni}", "output:br-int"),
        (f"vswitch:{dst.host}", f"vif:{dst.endpoint}", match, f"output:{dst.vif}"),
    ]


def _fixed(flow: str, src: Member, dst: Member, hop: Hop) -> bytes:
    at, after, match, actions = hop
    row = {"flow": flow, "at": at, "next": after, "src": src.endpoint, "dst": dst.endpoint}
    return orjson.dumps({**row, "match": match, "actions": actions})[:-1] + b","
