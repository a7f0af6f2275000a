"""How many packets did a suspect get, and lose? Sums by second, since a second that is over changes no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from localization.history import Second
from localization.routes import RouteTable, trains_of

MOST_ASKED = 256
Asked = tuple[int, int | None]
"""Numbers of a suspect, and of one whose trains are left out."""
Counted = tuple[int, int]
"""When a second ended, us, and how many trains it has: fewer, once some are left out."""


@dataclass(slots=True)
class Tallies:
    """Packets sent and lost in each second that was asked for, while no route crosses anything else than before."""

    known: dict[Asked, dict[Counted, tuple[int, int]]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Tallies], tuple[()]]:
        return Tallies, ()

    def of(
        self, table: RouteTable, seconds: Sequence[Second], suspect: int, without: int | None = None
    ) -> tuple[int, int]:
        """Packets sent and lost in some seconds on all routes over a suspect that do not cross another one."""
        if len(self.known) >= MOST_ASKED:
            self.known.clear()
        before = self.known.get((suspect, without), {})
        counted = {(second.t_us, len(second.route)): second for second in seconds}
        new = [second for key, second in counted.items() if key not in before]
        if new:
            routes = table.index.crossing(table.members, suspect)
            if without is not None:
                routes = np.setdiff1d(routes, table.index.crossing(table.members, without), assume_unique=True)
            trains = [(second, trains_of(second.route, routes)) for second in new]
            sums = [(int(second.sent[on].sum()), int(second.lost[on].sum())) for second, on in trains]
            before = before | dict(zip([(s.t_us, len(s.route)) for s in new], sums, strict=True))
        found = self.known[suspect, without] = {key: before[key] for key in counted}
        return sum(sent for sent, _ in found.values()), sum(lost for _, lost in found.values())
