"""Which device is an endpoint's now, although names change? Remembered by GUID and PCI address.

A device that comes back under another name (mlx5_3 to mlx5_4) is found by its GUID; a new card in the old slot by the
PCI address; only then by what the placement says. A name that suddenly belongs to another card is not followed.
One ``Cards`` serves all RNIC collectors of an agent, so that they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from collectors.rnic.devices import Chosen, Device, Inventory, choose
from collectors.rnic.placement import Placement

MOMENT_US = 250_000


class Cards:
    """The devices of this host, the card of each endpoint, and how often each card was born again.

    ``generation`` grows whenever a device came, went or was born again, ``looks`` whenever devices were listed.
    """

    def __init__(self, sys: Path, devices_s: float) -> None:
        self.sys = sys
        self.generation = self.looks = 0
        self._inventory = Inventory(sys)
        self._every_us = round(devices_s * 1e6)
        self._due_us = 0
        self._cards: dict[tuple[str, str], tuple[Device, int]] = {}
        self._lives: dict[str, tuple[int, int]] = {}

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices."""
        return self._inventory.devices

    def look(self, mono_us: int) -> int:
        """Looks whether devices have changed, when that is due; the generation. A listing that fails says nothing.

        Raises:
            OSError: the devices can't be listed, and none is known.
        """
        if mono_us < self._due_us:
            return self.generation
        self._due_us = mono_us + self._every_us
        try:
            changed = self._inventory.refresh()
        except OSError:
            if not self.devices:
                raise
            return self.generation
        self.looks += 1
        if changed:
            self.generation += 1
            for device in self.devices:
                self._count_life(device)
        return self.generation

    def look_soon(self, mono_us: int) -> None:
        """A device has failed: the next look is due in a moment."""
        self._due_us = min(self._due_us, mono_us + MOMENT_US)

    def find(self, placement: Placement) -> Chosen:
        """The device and port of an endpoint, or why there is none."""
        key = (placement.endpoint, placement.selector)
        known = self._cards.get(key)
        same = _same_card(known[0], self.devices) if known is not None else None
        if known is not None and same is not None and known[1] in same.ports:
            chosen = Chosen(same, known[1])
        else:
            chosen = choose(self.devices, placement.selector)
        if chosen.device is not None and chosen.port:
            self._cards[key] = (chosen.device, chosen.port)
        return chosen

    def epoch(self, device: Device) -> int:
        """How many times the card was born again since the agent began: loaded anew, reset, or exchanged."""
        return self._lives.get(identity(device), (0, 0))[1]

    def keep_only(self, placements: Sequence[Placement]) -> None:
        """Forgets endpoints that are no more."""
        for key in self._cards.keys() - {(one.endpoint, one.selector) for one in placements}:
            del self._cards[key]

    def _count_life(self, device: Device) -> None:
        key = identity(device)
        incarnation, epoch = self._lives.get(key, (device.incarnation, 0))
        self._lives[key] = (device.incarnation, epoch + (incarnation != device.incarnation))


def identity(device: Device) -> str:
    """What stays when the name changes: the slot, else the GUID, else the name."""
    return device.pci or device.guid or device.name


def _same_card(known: Device, devices: Sequence[Device]) -> Device | None:
    alike = [device for device in devices if known.guid is not None and device.guid == known.guid]
    if len(alike) == 1:
        return alike[0]
    for device in alike or devices:
        if known.pci is not None and device.pci == known.pci:
            return device
    return None
