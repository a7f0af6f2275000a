"""Ports, GIDs, firmware, PCIe links and bonds of this host's endpoints: what changes becomes a device event.

| event | severity | says |
|---|---|---|
| ``port_down``, ``port_up`` | error, info | the port changed its state; ``flaps`` = how often it went down lately |
| ``port_stable`` | info | it has stayed up for ``hold_s`` after it came back |
| ``gid_changed`` | warning | GID in use or its index: ``gid``, ``new_index``, ``old_gid``, ``old_index`` |
| ``gid_restored`` | info | the GID that was gone is there again |
| ``gid_missing`` | warning | of ``config:<host>``: the pinned index has no GID here, or one of the link only |
| ``pcie_degraded``, ``pcie_restored`` | warning, info | of ``host:<host>``: ``victim`` and ``limiting`` PCI address |
| ``bond_degraded``, ``bond_failed``, ``bond_restored`` | | with the ``members`` that are why |
| ``rnic_missing``, ``rnic_present`` | error, info | gone for ``confirm`` looks in a row, and back |
| ``rnic_not_found`` | warning | never seen since the agent began: perhaps a wrong name |
| ``rnic_reset`` | warning | its driver was loaded again, or it was reset; counters begin anew |
| ``rnic_inventory`` | info | what the card is; again when something changed (warning: it became slower) |
| ``speed_degraded`` | warning | slower than it should be, or than another port of its model on this host |
| ``mtu_mismatch`` | warning | another MTU than most ports of its model on this host |

``gids`` is the GID in use of each endpoint, ``watches`` are the cards that can be read, both for the agent's health
message: of a card that is watched, silence says something. What can't be read says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collectors.observing import Now, Observed
from collectors.rnic.following import Cards
from collectors.rnic.peers import PeerWatch
from collectors.rnic.placement import Placement, Placements
from collectors.rnic.port_state import Memory, PortState
from collectors.rnic.reports import device_event, rnic_id
from collectors.rnic.settings import RnicSettings


class RnicState:
    """Collector of device states."""

    name = "rnic-state"

    def __init__(self, placements: Placements, cards: Cards, settings: RnicSettings) -> None:
        self.period_s = settings.state_s
        self._placements, self._cards, self._settings = placements, cards, settings
        self._current: tuple[Placement, ...] = ()
        self._generation = -1
        self._ports: dict[str, PortState] = {}
        self._memory: dict[str, Memory] = {}
        self._peers = PeerWatch(settings.confirm)
        self._gids_us = self._pcie_us = 0

    @property
    def gids(self) -> dict[str, str]:
        """The GID in use of each endpoint that has one."""
        return {name: one.gid.gid for name, one in self._memory.items() if one.gid is not None and not one.holes}

    @property
    def watches(self) -> tuple[str, ...]:
        """Component ids of the cards whose ports gave their state when they were looked at."""
        read = {name for name, port in self._ports.items() if port.is_read}
        return tuple(sorted({rnic_id(one.host, one.rnic) for one in self._current if one.endpoint in read}))

    def collect(self, now: Now) -> Iterable[Observed]:
        """One look; what is new."""
        placements = tuple(self._placements())
        observed: list[Observed] = []
        generation = self._cards.look(now.mono_us)
        if generation != self._generation or placements != self._current:
            self._generation, self._current = generation, placements
            self._open()
            self._gids_us = self._pcie_us = 0
        gids, pcie = now.mono_us >= self._gids_us, now.mono_us >= self._pcie_us
        if gids:
            self._gids_us = now.mono_us + round(self._settings.gids_s * 1e6)
        if pcie:
            self._pcie_us = now.mono_us + round(self._settings.pcie_s * 1e6)
        for placement in placements:
            observed += self._look(now, placement, gids, pcie)
        if pcie:
            observed += self._peers.look(now, self._current, self._ports)
        return observed

    def _look(self, now: Now, placement: Placement, gids: bool, pcie: bool) -> Iterator[Observed]:
        memory = self._memory[placement.endpoint]
        port = self._ports.get(placement.endpoint)
        yield from self._presence(now, placement, memory, port)
        if port is None:
            return
        yield from port.look_at_link(now, placement)
        if gids:
            yield from port.look_at_gids(now, placement)
            yield from port.look_at_bond(now, placement)
        if pcie:
            yield from port.look_at_inventory(now, placement)
            yield from port.look_at_pcie(now, placement)

    def _presence(self, now: Now, placement: Placement, memory: Memory, port: PortState | None) -> Iterator[Observed]:
        device = rnic_id(placement.host, placement.rnic)
        if port is None:
            self._cards.look_soon(now.mono_us)
            memory.absent += memory.looks != self._cards.looks
            memory.looks = self._cards.looks
            if memory.absent < self._settings.confirm or memory.missing_told:
                return
            memory.missing_told = True
            if memory.epoch is None:
                text = f"{placement.rnic}: {self._cards.find(placement).why}"
                yield device_event(now, device, "rnic_not_found", "warning", text, selector=placement.selector)
            else:
                text = f"{placement.rnic} is gone: {self._cards.find(placement).why}"
                yield device_event(now, device, "rnic_missing", "error", text, endpoint=placement.endpoint)
            return
        if memory.missing_told:
            yield device_event(now, device, "rnic_present", "info", f"{placement.rnic} is there", name=port.device.name)
        memory.absent, memory.missing_told = 0, False
        epoch = self._cards.epoch(port.device)
        if memory.epoch is not None and epoch > memory.epoch:
            text = f"{placement.rnic} ({port.device.name}): its driver was loaded again, or it was reset"
            yield device_event(now, device, "rnic_reset", "warning", text, driver_epoch=epoch)
        memory.epoch = epoch

    def _open(self) -> None:
        former, self._ports = self._ports, {}
        self._cards.keep_only(self._current)
        endpoints = {one.endpoint for one in self._current}
        self._memory = {name: memory for name, memory in self._memory.items() if name in endpoints}
        for placement in self._current:
            name = placement.endpoint
            memory = self._memory.setdefault(name, Memory(self._settings))
            chosen = self._cards.find(placement)
            if chosen.device is None or not chosen.port:
                continue
            known = former.get(name)
            if known is not None and (known.device, known.port) == (chosen.device, chosen.port):
                self._ports[name] = known
            else:
                self._ports[name] = PortState(self._cards.sys, chosen.device, chosen.port, memory)
        for name, port in former.items():
            if self._ports.get(name) is not port:
                port.close()
