"""Do other pairs use the same links without trouble? Sums of the window's trains by link, since an onset.
 A link is acquitted when pairs that are not ill, at least one and with at least ``LEAST_PACKETS`` packets, crossed
it since the onset. It proves nothing for a single flow (a switch may treat flows differently), hence the boundary
pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localization.cases import Ends, ends_between
from localization.history import Second
from localization.routes import trains_of
from localization.watch import FabricWatch

LEAST_PACKETS = 20


@dataclass(frozen=True, slots=True)
class LinkUse:
    """Other pairs on a link since the onset: how many are well or ill, packets sent and lost by the well ones."""

    link: str
    healthy: int
    ill: int
    sent: int
    lost: int

    @property
    def acquitted(self) -> bool:
        """Whether healthy traffic speaks for the link."""
        return self.healthy > 0 and self.sent >= LEAST_PACKETS


@dataclass(frozen=True, slots=True)
class Usage:
    """The window's trains since an instant, to be asked who crosses what."""

    seconds: list[Second]
    watch: FabricWatch

    def of_link(self, link: str, own: set[Ends], ill: set[Ends]) -> LinkUse:
        """Who else uses a link. ``own``: pairs of the case, ``ill``: pairs with any open anomaly."""
        table = self.watch.routes
        healthy: set[Ends] = set()
        sick: set[Ends] = set()
        sent = lost = 0
        for route, (packets, gone) in self.packets(table.suspects.of_link(link)).items():
            src, dst = table.routes[route][:2]
            ends = ends_between(src, dst)
            if ends in own:
                continue
            if ends in ill:
                sick.add(ends)
                continue
            healthy.add(ends)
            sent += packets
            lost += gone
        return LinkUse(link, len(healthy), len(sick), sent, lost)

    def total(self, suspect: int, without: int) -> tuple[int, int]:
        """Packets sent and lost on all routes over a suspect that do not cross another one, by their numbers."""
        return self.watch.packets_on(self.seconds, suspect, without)

    def packets(self, suspects: list[int]) -> dict[int, tuple[int, int]]:
        """Packets sent and lost by route over any of some suspects, by their numbers."""
        table = self.watch.routes
        crossing = [table.index.crossing(table.members, number) for number in suspects]
        routes = np.unique(np.concatenate(crossing)) if crossing else np.zeros(0, np.int64)
        trains = [(second, trains_of(second.route, routes)) for second in self.seconds] if len(routes) else []
        if not trains:
            return {}
        place = np.searchsorted(routes, np.concatenate([second.route[on] for second, on in trains]))
        flown = np.flatnonzero(np.bincount(place, minlength=len(routes)))
        counts = [np.concatenate([getattr(second, column)[on] for second, on in trains]) for column in ("sent", "lost")]
        sent, lost = (np.bincount(place, count, len(routes))[flown].astype(np.int64).tolist() for count in counts)
        return dict(zip(routes[flown].tolist(), zip(sent, lost, strict=True), strict=True))


def usage_since(watch: FabricWatch, since_us: int) -> Usage:
    """The window's trains since an instant."""
    return Usage(watch.window.since(since_us), watch)
