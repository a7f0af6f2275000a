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
from localization.narrowing import Narrow, climbed, narrow, steps, wide
from localization.routes import RouteTable, sum_by_suspect, sums_by_suspect

LAG_S = 10
MEMORY_S = 600.0
WARM_SECONDS = 5


@dataclass(slots=True)
class Acquittal:
    """What trains without a loss say against suspects: ``weights`` (suspects x n) of what n kinds of trains ``say``
    (n x modes, nats). Kinds are numbers of ``packets`` sent where these are few, so that one sum does for all modes,
    else the modes themselves. ``sent``: packets of all trains by suspect; ``stray``: packets times links that are not
    known.
    """

    packets: Ints | None
    say: Floats
    weights: Floats
    sent: Floats
    stray: float

    def of(self, suspects: Ints) -> Floats:
        """Of some suspects, x modes; of those that came later: nothing."""
        known = suspects < len(self.weights)
        found = np.zeros((len(suspects), self.say.shape[1]))
        found[known] = self.weights[suspects[known]] @ self.say
        return found

    def of_all(self, size: int) -> Floats:
        """Of all suspects, as many as there are now."""
        found = np.zeros((size, self.say.shape[1]))
        found[: len(self.weights)] = self.weights @ self.say
        return found

    def add(self, second: Second, table: RouteTable, sign: float, total: Floats | None = None) -> None:
        """Counts trains, or takes them back (``sign`` -1). ``total``: how many of them cross each suspect, if known."""
        size, clean = len(table.suspects.all), second.lost == 0
        more = size - len(self.sent)
        self.weights = np.concatenate([self.weights, np.zeros((more, self.weights.shape[1]))])
        self.sent = np.concatenate([self.sent, np.zeros(more)])
        self.stray += sign * float((second.sent * table.stray[second.route]).sum())
        if self.packets is None:
            members = table.members[second.route]
            self.sent += sign * sum_by_suspect(members, second.sent.astype(np.float64), size)
            self.weights += sign * sums_by_suspect(members[clean], MODES.against(second.sent[clean]), size)
            return
        lossy = np.flatnonzero(~clean)
        members = table.members[second.route[lossy]]
        self.sent += sign * sum_by_suspect(members, second.sent[lossy].astype(np.float64), size)
        if total is not None:
            total = total - sum_by_suspect(members, np.ones(len(lossy)), size)
        for at, count in enumerate(self._counts(second, table, clean, total)):
            self.weights[:, at] += sign * count
            self.sent += sign * float(self.packets[at]) * count

    def _counts(self, second: Second, table: RouteTable, clean: Flags, total: Floats | None) -> list[Floats]:
        """How many trains without a loss cross each suspect, by kind. The most common kind is the rest of ``total``."""
        assert self.packets is not None
        kinds = [np.flatnonzero(clean & (second.sent == packets)) for packets in self.packets.tolist()]
        most = max(range(len(kinds)), key=lambda at: len(kinds[at]), default=0) if total is not None else -1
        size, counts = len(table.suspects.all), []
        for at, kind in enumerate(kinds):
            members = table.members[second.route[kind]] if at != most else table.members[:0]
            counts.append(sum_by_suspect(members, np.ones(len(members)), size))
        if total is not None and counts:
            counts[most] = total - np.sum(counts, axis=0)
        return counts


def acquittal_of(second: Second, table: RouteTable) -> Acquittal:
    """What the trains of a second say."""
    packets = np.unique(second.sent[second.lost == 0])
    few = len(packets) <= MODES.size
    say = MODES.against(packets) if few else np.eye(MODES.size)
    found = Acquittal(packets if few else None, say, np.zeros((0, len(say))), np.zeros(0), 0.0)
    total = table.index.trains_by_suspect(table.members, second.route, len(table.suspects.all)) if few else None
    found.add(second, table, 1.0, total)
    return found


@dataclass(slots=True)
class Second:
    """Trains of one second, in the order of their routes.

    ``against``: what its trains without a loss say, and ``hit``: which lost packets, once these have been worked out;
    they follow from the rest, so a pickle leaves them out.
    """

    t_us: int
    route: Ints
    sent: Ints
    lost: Ints
    against: Acquittal | None = None
    hit: Ints | None = None

    def __getstate__(self) -> tuple[int, Narrow, Narrow, Narrow]:
        return self.t_us, steps(self.route), narrow(self.sent), narrow(self.lost)

    def __setstate__(self, state: tuple[int, Narrow, Narrow, Narrow]) -> None:
        self.t_us, self.route, self.sent, self.lost = state[0], climbed(state[1]), wide(state[2]), wide(state[3])
        self.against = self.hit = None

    def lossy(self) -> Ints:
        """Positions of the trains that lost packets, ascending."""
        if self.hit is None:
            self.hit = np.flatnonzero(self.lost > 0)
        return self.hit

    def only(self, chosen: Flags | Ints) -> Second:
        """Some of its trains."""
        return Second(self.t_us, self.route[chosen], self.sent[chosen], self.lost[chosen])

    def acquittal(self, table: RouteTable) -> Acquittal:
        """``against``, of as many suspects as there were when it was worked out."""
        if self.against is None:
            self.against = acquittal_of(self, table)
        return self.against


def _floats() -> Floats:
    return np.zeros(0)


@dataclass(slots=True)
class HopLosses:
    """What a background lets each suspect lose, with a 0 at the end, and a hop of which nothing is known (``pooled``):
    kept until it learns more, left out of a pickle.
    """

    is_hop: Flags | None = None
    by_suspect: Floats = field(default_factory=_floats)
    pooled: float = 0.0

    def __reduce__(self) -> tuple[type[HopLosses], tuple[()]]:
        return HopLosses, ()


@dataclass(slots=True)
class HopBackground:
    """Packets sent and lost by suspect; only hops (``is_hop``) have any. ``learned``: seconds taken in."""

    prior_loss: float
    prior_losses: float
    sent: Floats = field(default_factory=_floats)
    lost: Floats = field(default_factory=_floats)
    learned: int = 0
    kept: HopLosses = field(default_factory=HopLosses)

    def grow(self, size: int) -> None:
        """Makes room for suspects that are new."""
        more = size - len(self.sent)
        if more > 0:
            self.kept = HopLosses()
            self.sent = np.concatenate([self.sent, np.zeros(more)])
            self.lost = np.concatenate([self.lost, np.zeros(more)])

    @property
    def pooled(self) -> float:
        """Loss of a hop of which nothing is known."""
        packets = self.prior_losses / self.prior_loss
        return float((self.prior_losses + self.lost.sum()) / (packets + self.sent.sum()))

    def losses(self, is_hop: Flags) -> HopLosses:
        """Loss of each hop; 0 for suspects that are no hops."""
        if self.kept.is_hop is not is_hop:
            losses, pooled = self.prior_losses, self.pooled
            by_suspect = np.where(is_hop, (losses + self.lost) / (losses / pooled + self.sent), 0.0)
            self.kept = HopLosses(is_hop, np.append(by_suspect, 0.0), pooled)
        return self.kept

    def of_routes(self, table: RouteTable, routes: Ints) -> Floats:
        """Background loss of trains, by their route."""
        known = self.losses(table.hop)
        return np.asarray(known.by_suspect[table.members[routes]].sum(axis=1) + table.stray[routes] * known.pooled)

    def expected(self, second: Second, table: RouteTable) -> float:
        """Packets that the background lets be lost of all trains of a second."""
        found = second.acquittal(table)
        known = self.losses(table.hop)
        return float(known.by_suspect[: len(found.sent)] @ found.sent) + found.stray * known.pooled

    def learn(self, table: RouteTable, second: Second, ill: Flags) -> None:
        """Takes the trains of a second in that are not ``ill``."""
        keep, self.kept = 1.0 - 1.0 / MEMORY_S, HopLosses()
        self.sent *= keep
        self.lost *= keep
        self.learned += 1
        size, is_hop, found = len(self.sent), table.hop, second.acquittal(table)
        left_out = sum_by_suspect(table.members[second.route[ill]], second.sent[ill].astype(np.float64), size)
        self.sent += np.where(is_hop, np.append(found.sent, np.zeros(size - len(found.sent))) - left_out, 0.0)
        lossy = np.flatnonzero((second.lost > 0) & ~ill)
        if len(lossy):
            members, lost = table.members[second.route[lossy]], second.lost[lossy]
            hops = self.losses(is_hop).by_suspect[members]
            share = hops / np.maximum(hops.sum(axis=1), 1e-12)[:, None] * lost[:, None]
            flat = np.bincount((members + 1).ravel(), share.ravel(), size + 1)
            self.lost += np.where(is_hop, flat[1:], 0.0)
            self.kept = HopLosses()


def by_route(route: Ints, size: int) -> Ints:
    """The order of trains by their routes, of ``size``. Nearly always there is one of each, and no need to sort."""
    place = np.full(size, -1, np.int64)
    place[route] = np.arange(len(route))
    order = place[place >= 0]
    return order if len(order) == len(route) else np.argsort(route, kind="stable")


@dataclass(slots=True)
class UsedRoutes:
    """Which routes the window uses: its seconds' routes when that was asked for last, and how many of its trains are on
    each (``flown``). Only seconds that came or went since then are counted. Left out of a pickle.
    """

    parts: list[Ints] = field(default_factory=list)
    flown: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __reduce__(self) -> tuple[type[UsedRoutes], tuple[()]]:
        return UsedRoutes, ()

    def of(self, parts: list[Ints], size: int) -> Flags:
        """By route number, for ``size`` routes."""
        before, now = ({id(part): part for part in each} for each in (self.parts, parts))
        if before.keys().isdisjoint(now):
            before, self.flown = {}, self.flown[:0]
        flown = np.zeros(size, np.int64)
        flown[: len(self.flown)] = self.flown
        for part in [part for key, part in now.items() if key not in before]:
            flown += np.bincount(part, minlength=size)
        for part in [part for key, part in before.items() if key not in now]:
            flown -= np.bincount(part, minlength=size)
        self.parts, self.flown = parts, flown
        return flown > 0


@dataclass(slots=True)
class TrainWindow:
    """The last ``length`` seconds, oldest first."""

    length: int
    seconds: list[Second] = field(default_factory=list)
    used: UsedRoutes = field(default_factory=UsedRoutes)

    def add(self, second: Second) -> None:
        """A second has ended; the oldest one falls out."""
        self.seconds.append(second)
        del self.seconds[: -self.length]

    def since(self, t_us: int) -> list[Second]:
        """Seconds that ended after an instant."""
        return [second for second in self.seconds if second.t_us > t_us]

    def renumber(self, routes: Ints) -> None:
        """Follows the route table when numbers change."""
        for second in self.seconds:
            second.route = routes[second.route]

    def uses(self, size: int) -> Flags:
        """Which of ``size`` routes the window's trains use."""
        return self.used.of([second.route for second in self.seconds], size)
