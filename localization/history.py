"""What did all pairs see in the last minute? Seconds of trains as columns, and what the fabric loses when it is well.
 Background: each hop (direction of a link) has its own loss, drawn towards the fabric's: b = (k + lost) / (k / B +
sent), B the fabric's, k = ``prior_losses`` lost packets (hops differ by B / sqrt(k)); a lost packet is shared among
the hops of its route in proportion to what they lose (one EM step). It is learned ``LAG_S`` behind and never from
routes that cross a suspect with a case against it, so a fault is not taken for normal before it is found. Decays
with ``MEMORY_S``. Memory: 32 bytes a train for the window, a few numbers per suspect and second.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.modes import MODES
from localization.routes import RouteTable, sum_by_suspect

LAG_S = 10
MEMORY_S = 600.0
WARM_SECONDS = 5


@dataclass(slots=True)
class Second:
    """Trains of one second.

    ``against``: what its trains without a loss say against each suspect and loss (nats), once it has been worked out;
    it follows from the rest, so a pickle leaves it out.
    """

    t_us: int
    route: Ints
    sent: Ints
    lost: Ints
    against: Floats | None = None

    def __getstate__(self) -> tuple[int, Ints, Ints, Ints]:
        return self.t_us, self.route, self.sent, self.lost

    def __setstate__(self, state: tuple[int, Ints, Ints, Ints]) -> None:
        self.t_us, self.route, self.sent, self.lost = state
        self.against = None

    def acquittal(self, table: RouteTable) -> Floats:
        """``against``, suspects x modes, as many suspects as there were when it was worked out."""
        if self.against is None:
            clean = self.lost == 0
            members, said = table.members[self.route[clean]], MODES.against(self.sent[clean])
            size = len(table.suspects.all)
            columns = [sum_by_suspect(members, said[:, number], size) for number in range(MODES.size)]
            self.against = np.stack(columns, axis=1).astype(np.float32)
        return self.against


def _floats() -> Floats:
    return np.zeros(0)


@dataclass(slots=True)
class HopBackground:
    """Packets sent and lost by suspect; only hops (``is_hop``) have any. ``learned``: seconds taken in."""

    prior_loss: float
    prior_losses: float
    sent: Floats = field(default_factory=_floats)
    lost: Floats = field(default_factory=_floats)
    learned: int = 0

    def grow(self, size: int) -> None:
        """Makes room for suspects that are new."""
        more = size - len(self.sent)
        if more > 0:
            self.sent = np.concatenate([self.sent, np.zeros(more)])
            self.lost = np.concatenate([self.lost, np.zeros(more)])

    @property
    def pooled(self) -> float:
        """Loss of a hop of which nothing is known."""
        packets = self.prior_losses / self.prior_loss
        return float((self.prior_losses + self.lost.sum()) / (packets + self.sent.sum()))

    def by_suspect(self, is_hop: Flags) -> Floats:
        """Loss of each hop; 0 for suspects that are no hops."""
        losses, pooled = self.prior_losses, self.pooled
        return np.where(is_hop, (losses + self.lost) / (losses / pooled + self.sent), 0.0)

    def of_routes(self, table: RouteTable, routes: Ints, is_hop: Flags) -> Floats:
        """Background loss of trains, by their route."""
        hops = np.append(self.by_suspect(is_hop), 0.0)
        known = hops[table.members[routes]].sum(axis=1)
        return np.asarray(known + np.maximum(table.unseen[routes], known == 0.0) * self.pooled)

    def learn(self, table: RouteTable, second: Second, healthy: Flags, is_hop: Flags) -> None:
        """Takes the healthy trains of a second in."""
        keep = 1.0 - 1.0 / MEMORY_S
        self.sent *= keep
        self.lost *= keep
        self.learned += 1
        size = len(self.sent)
        members, sent, lost = table.members[second.route[healthy]], second.sent[healthy], second.lost[healthy]
        self.sent += np.where(is_hop, sum_by_suspect(members, sent.astype(np.float64), size), 0.0)
        lossy = lost > 0
        if lossy.any():
            hops = np.append(self.by_suspect(is_hop), 0.0)[members[lossy]]
            share = hops / np.maximum(hops.sum(axis=1), 1e-12)[:, None] * lost[lossy][:, None]
            flat = np.bincount((members[lossy] + 1).ravel(), share.ravel(), size + 1)
            self.lost += np.where(is_hop, flat[1:], 0.0)


@dataclass(slots=True)
class TrainWindow:
    """The last ``length`` seconds, oldest first, and the trains of the second that is still open."""

    length: int
    seconds: list[Second] = field(default_factory=list)
    open: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)

    def add(self, route: Ints, sent: Ints, lost: Ints) -> None:
        """Trains of one message."""
        self.open.append((route, sent, lost))

    def close(self, t_us: int) -> Second:
        """Ends a second; the oldest one falls out."""
        parts = self.open or [(np.zeros(0, np.int64),) * 3]
        route, sent, lost = (np.concatenate([part[column] for part in parts]) for column in range(3))
        self.open = []
        second = Second(t_us, route, sent, lost)
        self.seconds.append(second)
        del self.seconds[: -self.length]
        return second

    def since(self, t_us: int) -> list[Second]:
        """Seconds that ended after an instant."""
        return [second for second in self.seconds if second.t_us > t_us]

    def renumber(self, routes: Ints) -> None:
        """Follows the route table when numbers change."""
        for second in self.seconds:
            second.route = routes[second.route]

    def used(self) -> Ints:
        """Routes of the window, ascending."""
        parts = [second.route for second in self.seconds] + [part[0] for part in self.open]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
