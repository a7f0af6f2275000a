"""Which trains say nothing of the network? Those of endpoints whose agent is away or starved.

They are left out of the search from the agent's silence on, also those that were taken before it was known, and the
faults that only they spoke for are dropped: otherwise a dead agent looks like a dead host beside every real fault.
Cost: nothing while no agent is in trouble; else O(routes of a second).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from localization.arrays import Flags, Ints
from localization.history import Second, TrainWindow
from localization.routes import Route
from schemas.instants import SECOND_US

MUTED_US = 6 * SECOND_US
"""How long endpoints are left out at a time: longer than any pause until their agent is looked at again."""
KEPT = 0.5
"""A fault stays if at least this share of the packets that it lost remains."""


@dataclass(slots=True)
class Mutes:
    """Endpoints whose trains are left out, with the span, us: (since, until)."""

    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def extend(self, endpoints: Iterable[str], since_us: int, until_us: int) -> list[str]:
        """Leaves endpoints out until ``until_us``; returns those that were not left out before."""
        fresh = []
        for endpoint in sorted(endpoints):
            known = self.spans.get(endpoint)
            if known is None or known[1] < since_us:
                fresh.append(endpoint)
                self.spans[endpoint] = since_us, until_us
            else:
                self.spans[endpoint] = known[0], max(known[1], until_us)
        return fresh

    def hush(self, second: Second, routes: list[Route]) -> bool:
        """Takes the trains of endpoints that are left out from a second; whether there were any."""
        names = {name for name, (since, until) in self.spans.items() if since < second.t_us <= until}
        if not names or not len(second.route):
            return False
        keep = np.logical_not(_touching(second.route, routes, names))
        if keep.all():
            return False
        second.route, second.sent, second.lost = second.route[keep], second.sent[keep], second.lost[keep]
        second.against = second.hit = None
        return True

    def trim(self, window: TrainWindow) -> None:
        """Forgets spans that no second of the window touches any more."""
        if self.spans and window.seconds:
            begin_us = window.seconds[0].t_us
            self.spans = {name: span for name, span in self.spans.items() if span[1] >= begin_us}


def _touching(route: Ints, routes: list[Route], names: set[str]) -> Flags:
    """Which trains begin or end at one of the endpoints."""
    used, place = np.unique(route, return_inverse=True)
    hit = [routes[number][0] in names or routes[number][1] in names for number in used.tolist()]
    return np.array(hit, np.bool_)[place]
