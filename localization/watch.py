"""Does the fabric lose more than it should, and where? All trains of all pairs, second by second.
 Each second every suspect's evidence goes through the same CUSUM as a pair's in detection, on the trains that cross
it, over what background and known faults explain. When one reaches the penalty, ``localization.search`` looks
through the whole window for the best set of faults; so loss that no single pair can show is found, and several
faults at once are told apart. The penalty is ln(suspects / ``false_blame_share``): by the union bound the chance
that a healthy fabric is blamed for a given window. In the first seconds, while the background is being learned,
only heavy loss counts. Cost: about 1 ms a second of event time for 640 trains, and the searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from math import log

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.echoes import Echoes
from localization.faults import RECOVERY_NATS, Fault, crossing_of, explained_by, follow
from localization.history import LAG_S, WARM_SECONDS, HopBackground, Second, TrainWindow, by_route
from localization.modes import MODES
from localization.muting import KEPT, Mutes
from localization.numbering import integers
from localization.parameters import LocalizationParameters
from localization.routes import RouteTable, trains_of
from localization.scores import add_second, most_evidence, suspected
from localization.suspects import Suspect
from localization.tallies import Tallies
from localization.topology import Topology
from schemas.diagnosis import PairWindows
from schemas.instants import SECOND_US

HEAVY_LOSS = 0.05
MOST_WINDOWS = 1440.0
LEAST_SHARE = 0.15
GROWN = 1.2
REVIEW_S = 2
LONGEST_WANING = 2
LIMBO_US = 3 * SECOND_US
EXPLAINED = 2.0


def _scores() -> Floats:
    return np.zeros((0, MODES.size))


@dataclass(slots=True)
class FabricWatch:
    """Trains, background, evidence per suspect (``score``, suspects x modes) and known faults of one fabric.

    ``runner_up``: the best suspect that the last search did not blame, its gain, and that without its strongest pair.
    ``probers``: endpoints that probed in the second that ended last, until somebody has read it.
    """

    parameters: LocalizationParameters
    topology: Topology
    window: TrainWindow
    background: HopBackground
    open: list[PairWindows] = field(default_factory=list)
    routes: RouteTable = field(default_factory=RouteTable)
    score: Floats = field(default_factory=_scores)
    faults: list[Fault] = field(default_factory=list)
    next_look_us: int = 0
    look_gap_s: int = 1
    looked_at: float = 0.0
    review_us: int = 0
    anew_us: int = 0
    review_gap_s: int = REVIEW_S
    runner_up: tuple[Suspect, float, float] | None = None
    seconds: int = 0
    echoes: Echoes = field(default_factory=Echoes)
    mutes: Mutes = field(default_factory=Mutes)
    probers: list[str] = field(default_factory=list)
    tallies: Tallies = field(default_factory=Tallies)

    @property
    def penalty(self) -> float:
        """Nats that a blame needs."""
        windows = min(max(1.0, self.seconds / self.window.length), MOST_WINDOWS)
        return log(max(1, len(self.routes.suspects.all)) * windows / self.parameters.false_blame_share)

    @property
    def warm(self) -> bool:
        """Whether the background is known well enough to see small loss."""
        return self.background.learned >= WARM_SECONDS

    def active(self) -> list[Fault]:
        """Faults that are not over."""
        return [fault for fault in self.faults if fault.over_us is None]

    def has_recovered(self, suspects: list[Suspect]) -> bool:
        """Whether trains cross all of these suspects unharmed again."""
        return all(fault.recovery >= RECOVERY_NATS for fault in self.active() if fault.suspect in suspects)

    def losses_on(self, suspects: list[Suspect]) -> Iterator[tuple[str, str, int]]:
        """Source, destination and lost packets of each lossy train that crossed a faulty suspect since its fault."""
        for fault in [fault for fault in self.faults if fault.suspect in suspects]:
            number = self.routes.suspects.index[fault.suspect]
            for second in self.window.since(fault.since_us):
                for at in self.routes.crossing(second.route, number).tolist():
                    if second.lost[at]:
                        src, dst = self.routes.routes[int(second.route[at])][:2]
                        yield src, dst, int(second.lost[at])

    def take(self, value: PairWindows) -> None:
        """Notes the trains of a message; they count when the second ends."""
        self.open.append(value)

    def refresh(self) -> None:
        """Follows a changed fabric: who crosses what is worked out anew, and sums per suspect begin anew."""
        self.routes.refresh(self.topology)
        self.echoes, self.tallies = Echoes(share=self.echoes.share), Tallies()
        for second in self.window.seconds:
            second.against = None
        self.score = _scores()
        self._drop_uncrossed()

    def move(self, endpoints: set[str]) -> None:
        """Follows endpoints that are not where they were: their trains count for what they cross now.

        Sums of suspects that such trains cross, or crossed, begin anew; all others stay.
        """
        routes = self.routes.of_ends(endpoints)
        if not len(routes):
            return
        before = self.routes.members[routes]
        parts = [(second, second.only(trains_of(second.route, routes))) for second in self.window.seconds]
        self._recount(parts, -1.0)
        self.routes.move(self.topology, routes)
        self.tallies = Tallies()
        self._recount(parts, 1.0)
        self.echoes.move(self.topology, self.routes.routes, endpoints, routes)
        for members in (before, self.routes.members[routes]):
            self.score[members[(members >= 0) & (members < len(self.score))]] = 0.0
        self._drop_uncrossed()

    def _recount(self, parts: list[tuple[Second, Second]], sign: float) -> None:
        """Adds some trains of seconds to their sums, or takes them away; sums that are not whole numbers begin anew."""
        for second, part in parts:
            if second.against is not None and second.against.packets is not None:
                second.against.add(part, self.routes, sign)
            else:
                second.against = None

    def _drop_uncrossed(self) -> None:
        """Forgets faults that no route crosses any more."""
        table = self.routes
        crossed = [len(table.index.crossing(table.members, table.suspects.index[f.suspect])) for f in self.faults]
        self.faults = [fault for fault, routes in zip(self.faults, crossed, strict=True) if routes]

    def close_second(self, t_us: int) -> bool:
        """Ends a second: scores, background, recovery. Whether a fault is over with it."""
        second = self._take_second(t_us)
        self.mutes.hush(second, self.routes.routes)
        self.seconds += 1
        self._grow()
        self._add_score(second)
        self._learn()
        ended = self._follow(second)
        horizon = t_us - self.window.length * SECOND_US
        self.faults = [fault for fault in self.faults if fault.over_us is None or fault.over_us > horizon]
        if t_us // SECOND_US % 60 == 0:
            self._compact()
            self.mutes.trim(self.window)
        return any(ended)

    def _take_second(self, t_us: int) -> Second:
        """The trains that came, as a second of the window."""
        values, self.open = self.open, []
        route = self.routes.number(values, self.topology)
        sent = integers(chain.from_iterable(value.sent for value in values), [value.sent for value in values])
        lost = integers(chain.from_iterable(value.lost for value in values), [value.lost for value in values])
        order, self.probers = by_route(route, len(self.routes.routes)), self.routes.probers(route)
        self.echoes.prepare(self.topology, self.routes.routes)
        second = Second(t_us, route[order], sent[order], lost[order])
        self.window.add(second)
        return second

    def _follow(self, second: Second) -> list[bool]:
        """Adds a second's evidence of recovery of the active faults; which of them are over with it."""
        active = self.active()
        if not active:
            return []
        crossing = [crossing_of(fault, second, self.routes) for fault in active]
        every = np.unique(np.concatenate(crossing))
        p = self.explained(second.only(every), self.faults)
        known = [
            (fault, second.only(on), p[np.searchsorted(every, on)]) for fault, on in zip(active, crossing, strict=True)
        ]
        return [follow(fault, part, own, self.parameters.quiet_s) for fault, part, own in known]

    def mute(self, endpoints: Iterable[str], since_us: int, until_us: int) -> None:
        """Leaves trains of endpoints out, also those already taken; faults that little else speaks for are dropped."""
        if not self.mutes.extend(endpoints, since_us, until_us):
            return
        before = [self._lost(fault) for fault in self.active()]
        hushed = [self.mutes.hush(second, self.routes.routes) for second in self.window.since(since_us)]
        if not any(hushed):
            return
        left = zip(self.active(), before, strict=True)
        gone = {fault.suspect for fault, lost in left if self._lost(fault) < max(1.0, KEPT * lost)}
        self.faults = [fault for fault in self.faults if fault.over_us is not None or fault.suspect not in gone]
        self._score_anew()

    def _lost(self, fault: Fault) -> int:
        """Packets that were lost over a fault since its onset, in the window."""
        return self.packets_on(self.window.since(fault.since_us), self.routes.suspects.index[fault.suspect])[1]

    def packets_on(self, seconds: list[Second], suspect: int, without: int | None = None) -> tuple[int, int]:
        """Packets sent and lost in seconds of the window on routes over a suspect that do not cross another one."""
        return self.tallies.of(self.routes, seconds, suspect, without)

    def _grow(self) -> None:
        size = len(self.routes.suspects.all)
        self.background.grow(size)
        if size > len(self.score):
            self.score = np.concatenate([self.score, np.zeros((size - len(self.score), MODES.size))])

    def explained(self, second: Second, faults: list[Fault]) -> Floats:
        """Loss that the background and ``faults`` predict for each train of a second."""
        background = self.background.of_routes(self.routes, second.route)
        return explained_by(faults, second, self.routes, (background, self.echo_chances))

    def touched(self, second: Second, faults: list[Fault]) -> Ints:
        """Positions of trains for which ``explained`` may differ from the background: lossy ones, or on a fault."""
        near = [fault for fault in faults if fault.covers(second) or fault.is_edge(second)]
        crossing = [crossing_of(fault, second, self.routes) for fault in near]
        return np.unique(np.concatenate([second.lossy(), *crossing])) if crossing else second.lossy()

    def echo_chances(self, routes: Ints, suspect: Suspect) -> Floats | None:
        """Per route the chance that replies cross a suspect and are lost there; None: on no route, or at its ends."""
        if suspect.kind in ("rnic", "host") or self.echoes.share < LEAST_SHARE:
            return None
        chances = self.echoes.share * self.crossed_back(routes, suspect)
        return chances if chances.any() else None

    def crossed_back(self, routes: Ints, suspect: Suspect) -> Floats:
        """Per route the chance that its replies cross a suspect."""
        return self.echoes.chances(self.topology, self.routes.routes, routes, suspect)

    def _add_score(self, second: Second) -> None:
        add_second(self.score, second, self.routes, lambda lossy: self.explained(lossy, self.faults))

    def _learn(self) -> None:
        if len(self.window.seconds) <= LAG_S:
            return
        second, was_warm = self.window.seconds[-1 - LAG_S], self.warm
        self.background.learn(self.routes, second, self._ill(second))
        if self.warm and not was_warm:
            self._score_anew()

    def _ill(self, second: Second) -> Flags:
        """Trains that are not to be learned from: on suspects with a case against them, or explained by a fault."""
        wary = {self.routes.suspects.index[fault.suspect] for fault in self.faults if fault.covers(second)}
        if self.warm:
            some = suspected(self.score)
            wary.update(some[self.score[some].max(axis=1, initial=0.0) >= self.penalty / 2.0].tolist())
        ill = self.routes.crosses_any(second.route, sorted(wary))
        if self.faults:
            some = self.touched(second, self.faults)
            part = second.only(some)
            background = self.background.of_routes(self.routes, part.route)
            ill[some] |= self.explained(part, self.faults) > EXPLAINED * background
        return ill

    def _score_anew(self) -> None:
        """Judges the window by the background that is known now; what the guess before it said does not count."""
        self.score = np.zeros_like(self.score)
        for second in self.window.seconds:
            self._add_score(second)

    def is_due(self, t_us: int) -> bool:
        """Whether a suspect has gathered so much evidence that a search is worth its cost.

        After a search in vain the next one waits, unless the evidence has grown by a fifth. Known faults are reviewed
        now and then: what a second of losses showed may look different after ten. While one ends, and until it has
        stayed well for ``LIMBO_US``, nothing is searched: a second that is half bad fits nobody, and small loss may
        only pause.
        """
        if any(fault.ended_us is not None and t_us - fault.bad_us < LIMBO_US for fault in self.active()):
            return False
        if any(0 < fault.waning <= LONGEST_WANING and fault.ended_us is None for fault in self.active()):
            return False
        if t_us >= self.review_us and any(fault.ended_us is None for fault in self.active()):
            return True
        worth = self.most_evidence()
        return worth >= self.penalty and (t_us >= self.next_look_us or worth >= GROWN * self.looked_at)

    def most_evidence(self) -> float:
        """Nats of the suspect that most speaks against, its prior included."""
        return most_evidence(self.score, self.routes.prior, 0.0 if self.warm else HEAVY_LOSS)

    def _compact(self) -> None:
        used = np.flatnonzero(self.window.uses(len(self.routes.routes)))
        if len(self.routes.routes) > 2 * len(used) + 1000:
            self.window.renumber(self.routes.keep(used))
            self.echoes.forget_routes()
