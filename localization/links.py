"""Do other pairs use the same links without trouble? Sums of the window's trains by link, since an onset.
 A link is acquitted when pairs that are not ill, at least one and with at least ``LEAST_PACKETS`` packets, crossed
it since the onset. It proves nothing for a single flow (a switch may treat flows differently), hence the boundary
pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localization.arrays import Ints
from localization.cases import Ends
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
    """Packets of the window by route since an instant, and which routes' pairs are ill."""

    route: Ints
    sent: Ints
    lost: Ints
    watch: FabricWatch

    def of_link(self, link: str, own: set[Ends], ill: set[Ends]) -> LinkUse:
        """Who else uses a link. ``own``: pairs of the case, ``ill``: pairs with any open anomaly."""
        table = self.watch.routes
        numbers = [
            number
            for suspect, number in table.suspects.index.items()
            if suspect.name == link and suspect.kind in ("direction", "link")
        ]
        on = np.isin(table.members[self.route], numbers).any(axis=1)
        healthy: set[Ends] = set()
        sick: set[Ends] = set()
        sent = lost = 0
        for at in np.flatnonzero(on).tolist():
            src, dst = table.routes[int(self.route[at])][:2]
            ends = (src, dst) if src < dst else (dst, src)
            if ends in own:
                continue
            if ends in ill:
                sick.add(ends)
                continue
            healthy.add(ends)
            sent += int(self.sent[at])
            lost += int(self.lost[at])
        return LinkUse(link, len(healthy), len(sick), sent, lost)


def usage_since(watch: FabricWatch, since_us: int) -> Usage:
    """Sums of the window's trains by route, since an instant."""
    seconds = watch.window.since(since_us)
    size = len(watch.routes.routes)
    sent, lost = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for second in seconds:
        sent += np.bincount(second.route, second.sent, size).astype(np.int64)
        lost += np.bincount(second.route, second.lost, size).astype(np.int64)
    used = np.flatnonzero(sent)
    return Usage(used, sent[used], lost[used], watch)
