"""What stands in the flow tables? The overlay chain of each pair, as the virtual switch and the RNICs hold it.

The chain of a flow is ``vif:<src>`` -> ``vswitch:<host>`` -> ``tunnel:<host>`` -> ``rnic:<host>/<rnic>`` -> fabric ->
``rnic:`` -> ``tunnel:`` -> ``vswitch:`` -> ``vif:<dst>``. The virtual switch's table holds the rows at ``vif:``,
``vswitch:`` and ``tunnel:``, the RNIC's table the rows at ``rnic:``. Ages are seconds, counters packets and bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skeletonhunter.testbed.jobs import Placed
from skeletonhunter.testbed.producers import Json

VXLAN_PORT = 4789
Path = Literal["hardware", "software"]


@dataclass(frozen=True)
class Flow:
    """One direction of a pair: packets from ``src`` to ``dst``, with ids that are unique per host."""

    src: Placed
    dst: Placed
    number: int
    vni: int

    @property
    def flow_id(self) -> str:
        """The same in both tables of a host."""
        return f"ufid-{self.number:06x}"


@dataclass(frozen=True)
class FlowState:
    """What a table knows of a flow: counters, age, offloaded or not, and the way packets were seen to take."""

    packets: int
    bytes: int
    idle_s: float
    offloaded: bool = True
    path: Path | None = "hardware"


def vswitch_rows(flow: Flow, at_source: bool, state: FlowState) -> list[Json]:
    """The flow's rows in the virtual switch's table of its source's host, or of its destination's."""
    src, dst = flow.src, flow.dst
    encap = f"set(tunnel(tun_id={flow.vni},dst={dst.host},tp_dst={VXLAN_PORT})),vxlan_sys"
    if at_source:
        hops = [
            (f"vif:{src.endpoint}", f"vswitch:{src.host}", f"in_port(vf{src.rail})", "output:br-int"),
            (f"vswitch:{src.host}", f"tunnel:{src.host}", _ip_match(flow), encap),
            (f"tunnel:{src.host}", f"rnic:{src.node}", f"tun_id={flow.vni}", f"output:{src.rnic}"),
        ]
    else:
        hops = [
            (f"tunnel:{dst.host}", f"vswitch:{dst.host}", f"tun_id={flow.vni}", "output:br-int"),
            (f"vswitch:{dst.host}", f"vif:{dst.endpoint}", _ip_match(flow), f"output:vf{dst.rail}"),
        ]
    return [_row(flow, hop, state) for hop in hops]


def rnic_row(flow: Flow, at_source: bool, state: FlowState) -> Json:
    """The flow's row in the RNIC's own table."""
    src, dst = flow.src, flow.dst
    if at_source:
        hop = (f"rnic:{src.node}", f"rnic:{dst.node}", _ip_match(flow), f"encap(vni={flow.vni}),uplink")
    else:
        hop = (f"rnic:{dst.node}", f"tunnel:{dst.host}", f"vni={flow.vni}", f"decap,vf{dst.rail}")
    return _row(flow, hop, state)


def _ip_match(flow: Flow) -> str:
    return f"ipv4(src={flow.src.ip},dst={flow.dst.ip}),udp(dst=4791)"


def _row(flow: Flow, hop: tuple[str, str, str, str], state: FlowState) -> Json:
    at, after, match, actions = hop
    return {
        "flow": flow.flow_id,
        "at": at,
        "next": after,
        "src": flow.src.endpoint,
        "dst": flow.dst.endpoint,
        "match": match,
        "actions": actions,
        "packets": state.packets,
        "bytes": state.bytes,
        "idle_s": state.idle_s,
        "offloaded": state.offloaded,
        "path": state.path,
    }
