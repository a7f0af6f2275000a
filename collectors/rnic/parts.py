"""The agent's parts for RNICs, put together: one look at devices serves them all."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from collectors.rnic.burst_reports import RnicBursts
from collectors.rnic.counters import RnicCounters
from collectors.rnic.ethtool import Ethtool
from collectors.rnic.following import Cards
from collectors.rnic.placement import Placements
from collectors.rnic.settings import RnicSettings
from collectors.rnic.state import RnicState


class RnicParts(Struct, frozen=True):
    """The three collectors; ``state.gids`` goes into the agent's health message."""

    counters: RnicCounters
    bursts: RnicBursts
    state: RnicState


def rnic_parts(placements: Placements, sys: Path, settings: RnicSettings) -> RnicParts:
    """Collectors that read below ``sys`` (``/sys``) for the endpoints that ``placements`` tells."""
    cards = Cards(sys, settings.devices_s)
    statistics = Ethtool() if settings.ethtool_s else None
    return RnicParts(
        RnicCounters(placements, cards, settings, statistics),
        RnicBursts(placements, cards, settings),
        RnicState(placements, cards, settings),
    )
