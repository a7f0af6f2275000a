"""Does a port of this host run unlike what it should, or unlike its equals? Rate and MTU; told once, after some looks.

Equals are physical ports of one driver, model and board. Virtual functions, bonds and soft devices have no equals: a
function of 40 Gb/s beside cards of 200 Gb/s is as it should be. What a role should run at is known only if a placement
says so. One port that differs from most is odd; where two halves differ, the lower rate or smaller MTU is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from collectors.observing import Now, Observed
from collectors.rnic.placement import Placement
from collectors.rnic.port_state import PortState, Speed
from collectors.rnic.reports import device_event, rnic_id


class PeerWatch:
    """Remembers at how many looks in a row a port was odd."""

    def __init__(self, confirm: int) -> None:
        self._confirm = confirm
        self._odd: dict[tuple[str, str], int] = {}

    def look(self, now: Now, placements: Sequence[Placement], ports: Mapping[str, PortState]) -> Iterator[Observed]:
        """Takes one look at all ports of the host."""
        speeds = {name: speed for name, port in ports.items() if (speed := port.speed()) is not None}
        odd: dict[tuple[str, str], int] = {}
        for placement in placements:
            port = ports.get(placement.endpoint)
            if port is None:
                continue
            for code, text, values in _oddities(placement, port, speeds):
                looks = odd[placement.endpoint, code] = self._odd.get((placement.endpoint, code), 0) + 1
                if looks == self._confirm:
                    device = rnic_id(placement.host, placement.rnic)
                    yield device_event(now, device, code, "warning", f"{placement.rnic} {text}", **values)
        self._odd = odd


def _oddities(
    placement: Placement, port: PortState, speeds: Mapping[str, Speed]
) -> Iterator[tuple[str, str, dict[str, object]]]:
    rate, own = port.memory.inventory.get("gbps"), speeds.get(placement.endpoint)
    equals = [speed for speed in speeds.values() if own is not None and speed.alike == own.alike]
    fastest = max((speed.gbps for speed in equals), default=0.0)
    if placement.gbps is not None:
        if isinstance(rate, float) and rate < placement.gbps:
            text = f"runs at {rate:g} Gb/s and should at {placement.gbps:g}"
            yield "speed_degraded", text, {"gbps": rate, "expected_gbps": placement.gbps}
    elif own is not None and own.gbps < fastest:
        text = f"runs at {own.gbps:g} Gb/s, another port of its model at {fastest:g}"
        yield "speed_degraded", text, {"gbps": own.gbps, "others_gbps": fastest}
    usual, mtu = usual_mtu(equals), port.memory.inventory.get("mtu")
    if placement.mtu is not None:
        if isinstance(mtu, int) and mtu != placement.mtu:
            yield (
                "mtu_mismatch",
                f"has MTU {mtu} and should have {placement.mtu}",
                {"mtu": mtu, "expected": placement.mtu},
            )
    elif own is not None and own.mtu is not None and usual is not None and own.mtu != usual:
        yield (
            "mtu_mismatch",
            f"has MTU {own.mtu}, most ports of its model {usual}",
            {"mtu": own.mtu, "others_mtu": usual},
        )


def usual_mtu(equals: Sequence[Speed]) -> int | None:
    """The MTU of most ports; of halves the larger one."""
    counts = Counter(speed.mtu for speed in equals if speed.mtu is not None)
    return max(counts, key=lambda mtu: (counts[mtu], mtu), default=None)
