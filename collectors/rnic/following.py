"""Which device is an endpoint's now, although names change? Remembered by GUID and PCI address.

A device that comes back under another name (mlx5_3 to mlx5_4) is found by its GUID; a new card in the old slot by the
PCI address; only then by what the placement says. A name that suddenly belongs to another card is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectors.rnic.devices import Chosen, Device, choose
from collectors.rnic.placement import Placement


class Follower:
    """Remembers which card each endpoint has, and how often that card was born again."""

    def __init__(self) -> None:
        self._cards: dict[str, tuple[Device, int]] = {}
        self._lives: dict[str, tuple[int, int]] = {}

    def find(self, placement: Placement, devices: Sequence[Device]) -> Chosen:
        """The device and port of an endpoint, or why there is none."""
        known = self._cards.get(placement.endpoint + "\0" + placement.selector)
        same = _same_card(known[0], devices) if known is not None else None
        if known is not None and same is not None and known[1] in same.ports:
            chosen = Chosen(same, known[1])
        else:
            chosen = choose(devices, placement.selector)
        if chosen.device is not None and chosen.port:
            self._cards[placement.endpoint + "\0" + placement.selector] = (chosen.device, chosen.port)
            self._count_life(chosen.device)
        return chosen

    def epoch(self, device: Device) -> int:
        """How many times the card was born again since the agent began: loaded anew, reset, or exchanged."""
        return self._lives.get(identity(device), (0, 0))[1]

    def keep_only(self, placements: Sequence[Placement]) -> None:
        """Forgets endpoints that are no more."""
        kept = {one.endpoint + "\0" + one.selector for one in placements}
        for key in self._cards.keys() - kept:
            del self._cards[key]

    def _count_life(self, device: Device) -> None:
        key = identity(device)
        incarnation, epoch = self._lives.get(key, (device.incarnation, 0))
        if incarnation != device.incarnation:
            epoch += 1
        self._lives[key] = (device.incarnation, epoch)


def identity(device: Device) -> str:
    """What stays when the name changes: the slot, else the GUID, else the name."""
    return device.pci or device.guid or device.name


def _same_card(known: Device, devices: Sequence[Device]) -> Device | None:
    for device in devices:
        if (
            known.guid is not None
            and device.guid == known.guid
            and (device.pci == known.pci or not _twice(known, devices))
        ):
            return device
    for device in devices:
        if known.pci is not None and device.pci == known.pci:
            return device
    return None


def _twice(known: Device, devices: Sequence[Device]) -> bool:
    """Whether several devices claim the same GUID, as functions of one card can."""
    return sum(device.guid == known.guid for device in devices) > 1
