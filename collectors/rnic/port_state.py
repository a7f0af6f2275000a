"""What is one endpoint's port like now? Readings behind ``RnicState``: state, rate, MTU, GIDs, PCIe, bond.

Each reading returns what is new since the last one as device events. One ``PortState`` lives as long as its card's
present life; what must outlive a reload (flaps, the GID in use, what was told) is in ``Memory``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from collectors.observing import Now, Observed
from collectors.rnic.attributes import Attribute, read_text
from collectors.rnic.bonds import BondVerdict, active_aggregator, bond_of, judge_bond, read_members
from collectors.rnic.devices import Device
from collectors.rnic.gid_reading import GidReader
from collectors.rnic.gid_tables import Gid, compare, in_use, misplaced
from collectors.rnic.link_watch import Change, LinkWatch
from collectors.rnic.pcie import PcieWatch, find_bottleneck, read_chain
from collectors.rnic.placement import Placement
from collectors.rnic.port_reading import ByteReader
from collectors.rnic.port_text import first_line, parse_link_layer, parse_net_speed, parse_physical_state, parse_rate
from collectors.rnic.port_text import parse_state as state_of
from collectors.rnic.reports import device_event, rnic_id
from collectors.rnic.settings import RnicSettings

BUSY_BYTES_S = 10_000_000
"""A card that moves less may have put its PCIe link to sleep."""


HOLE_LOOKS = 2
"""An interface that is set up anew has no GID for a moment."""


class Memory:
    """What is known of an endpoint beyond one life of its card."""

    def __init__(self, settings: RnicSettings) -> None:
        window_us, hold_us = round(settings.flap_window_s * 1e6), round(settings.hold_s * 1e6)
        self.link = LinkWatch(window_us, hold_us, settings.confirm)
        self.pcie = PcieWatch(settings.confirm)
        self.gid: Gid | None = None
        self.listed: tuple[str | None, int | None] = (None, None)
        self.holes = 0
        self.hole_told = False
        self.inventory: dict[str, object] = {}
        self.members: tuple[str, ...] = ()
        self.bond = BondVerdict("whole")
        self.absent = 0
        self.looks = -1
        self.missing_told = False
        self.epoch: int | None = None


class Speed(Struct, frozen=True):
    """What ports of one kind of card on one host are compared by; ``mtu`` None = not known."""

    alike: tuple[str, ...]
    gbps: float
    mtu: int | None


class PortState:
    """One endpoint's port in one life of its card. ``is_read``: the last look at its state was answered."""

    def __init__(self, sys: Path, device: Device, port: int, memory: Memory) -> None:
        self.device, self.port, self.memory = device, port, memory
        self._sys = str(sys)
        folder = device.port_folder(port)
        self._folder = folder
        self._netdev = device.netdev(port)
        self._state, self._physical = Attribute(f"{folder}/state"), Attribute(f"{folder}/phys_state")
        self._downs = self._down_counter(folder)
        self._gids = GidReader(folder)
        self._bytes = ByteReader(sys, device, port)
        self._moved: tuple[int, int] | None = None
        self.is_read = self._is_down = False

    def _down_counter(self, folder: str) -> Attribute:
        """The count of downs: the network device's, else the port's; they count the same.

        Over InfiniBand it is the port's: IPoIB may be off on a port that works, and counts nothing then.
        """
        carrier = f"{self._sys}/class/net/{self._netdev}/carrier_down_count"
        over_ib = parse_link_layer(read_text(f"{folder}/link_layer") or "") == "InfiniBand"
        if self._netdev and not over_ib and read_text(carrier) is not None:
            return Attribute(carrier)
        return Attribute(f"{folder}/counters/link_downed")

    def close(self) -> None:
        """Lets go of the files."""
        for attribute in (self._state, self._physical, self._downs):
            attribute.close()
        self._bytes.close()
        self._gids.close()

    def look_at_link(self, now: Now, placement: Placement) -> Iterator[Observed]:
        """Port state and flaps."""
        try:
            state = state_of(self._state.read().decode("ascii", "replace"))
            physical = parse_physical_state(self._physical.read().decode("ascii", "replace"))
        except OSError:
            state, physical = "unknown", "unknown"
        up = None if state == "unknown" else state in ("active", "active_defer")
        self.is_read, self._is_down = up is not None, state == "down"
        downs = self._downs.counter()
        for change in self.memory.link.look(now.mono_us, up, downs if type(downs) is int else None):
            yield _link_event(now, placement, change, f"{state}, {physical}")

    def look_at_gids(self, now: Now, placement: Placement) -> Iterator[Observed]:
        """The GID in use, and whether it is another one."""
        memory = self.memory
        table = self._gids.read(now.mono_us)
        if table is None:
            return
        if memory.listed != (placement.gid, placement.gid_index):
            memory.listed, memory.gid, memory.holes = (placement.gid, placement.gid_index), None, 0
        known = memory.gid
        found = known if known in table else in_use(table, placement.gid, placement.gid_index)
        device = rnic_id(placement.host, placement.rnic)
        move = compare(known, found)
        was_hole, memory.holes = memory.holes >= HOLE_LOOKS, memory.holes + 1 if found is None else 0
        if move is not None and (found is not None or memory.holes == HOLE_LOOKS):
            before = {"old_gid": move.before.gid, "old_index": move.before.index}
            after = {"gid": found.gid if found else None, "new_index": found.index if found else None}
            values = {"endpoint": placement.endpoint, **after, **before}
            yield device_event(now, device, "gid_changed", "warning", f"{placement.rnic}: {move.text}", **values)
        elif (wrong := self._misplaced(table, placement, found)) and not memory.hole_told:
            memory.hole_told = True
            text = f"{placement.rnic}: index {placement.gid_index} is pinned and {wrong}"
            scope = f"config:{placement.host}"
            indexes = [entry.index for entry in table]
            yield device_event(now, scope, "gid_missing", "warning", text, endpoint=placement.endpoint, indexes=indexes)
        elif found is not None and found == known and was_hole:
            text = f"{placement.rnic}: GID index {found.index} is {found.gid} again"
            yield device_event(now, device, "gid_restored", "info", text, endpoint=placement.endpoint, gid=found.gid)
        memory.gid = found if found is not None else known

    def _misplaced(self, table: tuple[Gid, ...], placement: Placement, found: Gid | None) -> str:
        return "" if placement.gid_index is None else misplaced(table, found)

    def look_at_pcie(self, now: Now, placement: Placement) -> Iterator[Observed]:
        """Width and speed of the way to the host."""
        chain = read_chain(f"{self.device.folder}/device")
        news = self.memory.pcie.look(find_bottleneck(chain), self._is_busy(now))
        if news is None:
            return
        device = f"host:{placement.host}"
        if news == "restored":
            text = f"{placement.rnic}: the PCIe link is as wide and fast as it can be again"
            yield device_event(now, device, "pcie_restored", "info", text, rnic=placement.rnic)
            return
        values = {
            "rnic": placement.rnic,
            "device": self.device.name,
            "victim": news.victim,
            "limiting": news.limiting,
            "cause": news.cause,
            "available_gbps": news.available_gbps,
            "capable_gbps": news.capable_gbps,
        }
        text = f"{placement.rnic} ({self.device.name}): {news.text}"
        yield device_event(now, device, "pcie_degraded", "warning", text, **values)

    def look_at_bond(self, now: Now, placement: Placement) -> Iterator[Observed]:
        """The members of the bond, where there is one."""
        memory = self.memory
        bond = bond_of(self._sys, self._netdev) if self._netdev else None
        members = read_members(self._sys, bond) if bond is not None else None
        if bond is None or members is None:
            return
        names = tuple(member.name for member in members)
        memory.members = tuple(dict.fromkeys((*memory.members, *names)))
        verdict = judge_bond(members, memory.members, active_aggregator(self._sys, bond))
        if verdict == memory.bond:
            return
        memory.bond = verdict
        code = {"failed": "bond_failed", "degraded": "bond_degraded", "whole": "bond_restored"}[verdict.state]
        severity = "error" if verdict.state == "failed" else "warning" if verdict.state == "degraded" else "info"
        text = f"{bond} is {verdict.state}" + (f": {verdict.why}" if verdict.why else "")
        device = rnic_id(placement.host, placement.rnic)
        yield device_event(now, device, code, severity, text, bond=bond, members=list(verdict.members))  # type: ignore[arg-type]

    def look_at_inventory(self, now: Now, placement: Placement) -> Iterator[Observed]:
        """Firmware, rate, MTU and the rest: told at first, and when something changes."""
        memory, found = self.memory, self.inventory()
        known = memory.inventory
        for name in ("gbps", "net_gbps", "mtu"):
            found[name] = known.get(name) if found[name] is None else found[name]
        if found == known:
            return
        memory.inventory = found
        changed = {
            name: [known.get(name), value] for name, value in found.items() if known and known.get(name) != value
        }
        what = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in changed.items())
        slower = isinstance(found["gbps"], float) and isinstance(known.get("gbps"), float) and "gbps" in changed
        worse = slower and found["gbps"] < known["gbps"]  # type: ignore[operator]
        text = f"{placement.rnic} is {self.device.name}, firmware {self.device.firmware or 'unknown'}"
        device = rnic_id(placement.host, placement.rnic)
        severity = "warning" if worse else "info"
        text = f"{placement.rnic}: {what}" if changed else text
        yield device_event(now, device, "rnic_inventory", severity, text, **found, changed=changed)  # type: ignore[arg-type]

    def inventory(self) -> dict[str, object]:
        """What the card is, and what its port runs at: a port that is down shows the slowest rate, which is none."""
        device, net = self.device, f"{self._sys}/class/net/{self._netdev}"
        rate = None if self._is_down else parse_rate(read_text(f"{self._folder}/rate") or "")
        mtu = first_line(read_text(f"{net}/mtu") or "") if self._netdev else ""
        return {
            "device": device.name,
            "port": self.port,
            "driver": device.driver,
            "kind": device.kind,
            "pci": device.pci,
            "guid": device.guid,
            "firmware": first_line(read_text(f"{device.folder}/fw_ver") or "") or None,
            "board": device.board,
            "model": device.model,
            "netdev": self._netdev or None,
            "link_layer": parse_link_layer(read_text(f"{self._folder}/link_layer") or ""),
            "gbps": rate.gbps if rate else None,
            "net_gbps": parse_net_speed(read_text(f"{net}/speed") or "") if self._netdev else None,
            "mtu": int(mtu) if mtu.isascii() and mtu.isdigit() and len(mtu) < 7 else None,
        }

    def speed(self) -> Speed | None:
        """Rate and MTU, and what the card has to have in common with those that it is compared with."""
        gbps, mtu = self.memory.inventory.get("gbps"), self.memory.inventory.get("mtu")
        if self.device.kind != "physical" or not isinstance(gbps, float):
            return None
        alike = (self.device.driver or "", self.device.model or "", self.device.board or "")
        return Speed(alike, gbps, mtu if isinstance(mtu, int) else None)

    def _is_busy(self, now: Now) -> bool:
        """Whether the port moved data since the last look."""
        sent, received = self._bytes.read()
        known, self._moved = self._moved, None
        if sent is None or received is None:
            return False
        self._moved = (now.mono_us, sent + received)
        if known is None or now.mono_us <= known[0]:
            return False
        return (sent + received - known[1]) * 1e6 >= BUSY_BYTES_S * (now.mono_us - known[0])


def _link_event(now: Now, placement: Placement, change: Change, state: str) -> Observed:
    device = rnic_id(placement.host, placement.rnic)
    values: dict[str, object] = {"endpoint": placement.endpoint, "flaps": change.flaps, "hidden": change.hidden}
    if change.down_us is not None:
        values["down_s"] = change.down_us / 1e6
    often = f" (down {change.flaps} times lately)" if change.flaps > 1 else ""
    if change.kind == "down":
        state = "and came back before it was looked at" if change.hidden else f"({state})"
        return device_event(now, device, "port_down", "error", f"{placement.rnic} went down {state}{often}", **values)
    if change.kind == "up":
        text = f"{placement.rnic} is up again, not yet for long{often}"
        return device_event(now, device, "port_up", "info", text, stable=False, **values)
    return device_event(now, device, "port_stable", "info", f"{placement.rnic} has stayed up{often}", **values)
