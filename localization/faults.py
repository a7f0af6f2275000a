"""Which suspects are blamed now, and are they well again? Known faults of a fabric, with hysteresis.

A fault is over when the trains that cross it speak for the background (a CUSUM against half its loss, as in
detection's recovery) for the quiet time without a break, or when nothing has crossed it for ``SILENT_S``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localization.arrays import Floats, Ints
from localization.history import Second
from localization.likelihood import EDGE_S, echoed
from localization.modes import MOST_LOSS
from localization.routes import RouteTable
from localization.suspects import Suspect
from schemas.instants import SECOND_US

RECOVERY_NATS = 6.0
SILENT_S = 120
WANING, WANING_PACKETS = 0.7, 100.0
TOTAL = 0.97
"""What loses so much lets nothing pass."""
HIT = 0.2
"""A train has been hit by an erratic fault if it lost this share of what such trains lose."""


@dataclass(slots=True)
class Fault:
    """A blamed suspect and the evidence for it, as of the last search. ``over_us``: when it had recovered.

    ``lost``, ``sent``: packets of trains that crossed it since ``since_us``. ``rivals``: (suspect, nats) that explain
    nearly as much. ``lead``: nats over whoever could take its place. ``support``: nats without the strongest pair.
    ``recovery``: nats for its being well again.
    ``replaces``: blamed before in its place. ``waning``: seconds in a row in which much passed of what it should stop.
    """

    suspect: Suspect
    loss: float
    hit: float
    since_us: int
    found_us: int
    gain: float
    support: float
    pairs: int
    sent: int
    lost: int
    rivals: tuple[tuple[Suspect, float], ...]
    lead: float = 0.0
    replaces: tuple[Suspect, ...] = ()
    recovery: float = 0.0
    bad_us: int = 0
    over_us: int | None = None
    waning: int = 0

    @property
    def ended_us(self) -> int | None:
        """When it was last bad, if it is over or about to be; None: it goes on."""
        if self.over_us is not None:
            return self.over_us
        return self.bad_us if self.recovery >= RECOVERY_NATS else None

    @property
    def erratic(self) -> bool:
        """Whether it hits some trains at will."""
        return self.hit < 1.0

    def covers(self, second: Second) -> bool:
        """Whether the fault lasted during that second."""
        return self.since_us < second.t_us and (self.ended_us is None or second.t_us <= self.ended_us)

    def is_edge(self, second: Second) -> bool:
        """Whether the fault may have been there for a part of that second: just before its onset or after its end."""
        edge_us = EDGE_S * SECOND_US
        if second.t_us <= self.since_us:
            return second.t_us > self.since_us - edge_us
        return self.ended_us is not None and self.ended_us < second.t_us <= self.ended_us + edge_us


def crossing_of(fault: Fault, second: Second, table: RouteTable) -> Ints:
    """Positions of the second's trains that cross the fault."""
    return table.crossing(second.route, table.suspects.index[fault.suspect])


Echo = Callable[[Ints, Suspect], Floats | None]
"""The chance, per route, that its replies cross a suspect; None: that of no route."""


def explained_by(faults: list[Fault], second: Second, table: RouteTable, known: tuple[Floats, Echo]) -> Floats:
    """Loss that background and known faults predict for each train of a second."""
    p, echo = known
    for fault in faults:
        if fault.covers(second) or fault.is_edge(second):
            lossy = np.flatnonzero(second.lost > 0)
            chances = echo(second.route[lossy], fault.suspect) if len(lossy) else None
            if chances is not None:
                lost = second.lost[lossy].astype(np.float64)
                by_fault, nats = echoed((lost, second.sent[lossy] - lost), 1.0 - p[lossy], fault)
                odds = chances * np.exp(nats)
                p[lossy] += odds / (odds + 1.0 - np.minimum(chances, MOST_LOSS)) * (1.0 - by_fault - p[lossy])
        if fault.covers(second):
            on = crossing_of(fault, second, table)
            p[on] = 1.0 - (1.0 - p[on]) * (1.0 - fault.loss)
            if fault.erratic:
                lossy_on = on[second.lost[on] > 0]
                p[lossy_on] = second.lost[lossy_on] / second.sent[lossy_on]
        elif fault.is_edge(second):
            on = crossing_of(fault, second, table)
            p[on] = np.maximum(p[on], second.lost[on] / second.sent[on])
    return np.minimum(p, MOST_LOSS)


def follow(fault: Fault, second: Second, p: Floats, quiet_s: float) -> bool:
    """Adds a second's evidence of recovery (its trains that cross the fault); whether the fault is over with it."""
    sent, lost = int(second.sent.sum()), second.lost
    fault.sent, fault.lost = fault.sent + sent, fault.lost + int(lost.sum())
    expected = fault.loss * sent
    fades = not fault.erratic and expected >= WANING_PACKETS and int(lost.sum()) < WANING * expected
    fault.waning = fault.waning + 1 if fades else 0
    gain = _calm(fault, second.sent, lost) if fault.erratic else _well(fault, p, sent, lost)
    fault.recovery = min(max(0.0, fault.recovery + gain), 2.0 * RECOVERY_NATS)
    if fault.recovery < RECOVERY_NATS and sent:
        fault.bad_us = second.t_us
    wait_s = quiet_s if fault.recovery >= RECOVERY_NATS else SILENT_S
    if second.t_us - fault.bad_us >= wait_s * SECOND_US:
        fault.over_us = second.t_us
    return fault.over_us is not None


def _well(fault: Fault, p: Floats, sent: int, lost: Ints) -> float:
    """Nats by which a second speaks for the background and against half the fault's loss."""
    half = fault.loss / 2.0
    base = np.maximum(1.0 - (1.0 - p) / (1.0 - fault.loss), 1e-9)
    against = float((lost * np.log1p(half * (1.0 - base) / base)).sum())
    return -against - float(np.log1p(-half)) * (sent - int(lost.sum()))


def _calm(fault: Fault, sent: Ints, lost: Ints) -> float:
    """The same of an erratic fault, which hits a train or does not: one that was hit shows that it is not over."""
    hit = lost >= HIT * fault.loss * sent
    if hit.any():
        return -2.0 * RECOVERY_NATS
    return float(-np.log1p(-fault.hit)) * len(sent)


def same_trouble(old: Fault, new: Fault) -> bool:
    """Whether a new fault may take an old one's place: the same trains speak for both."""
    return new.suspect in [rival for rival, _ in old.rivals] or old.suspect in [rival for rival, _ in new.rivals]
