"""How much of a probe's time was the network's? The four-timestamp formula, and when not to believe it.

    T1 prober sent, T2 responder received, T3 responder answered, T4 prober received
    network = (T4 - T1) - (T3 - T2)      responder delay = T3 - T2
    prober delay = (looked at - posted) - (T4 - T1)

as in NTP (RFC 5905, section 8) and in R-Pingmesh (SIGCOMM 2024). T1 and T4 are by one clock of the prober, T2 and T3
by one of the responder, so neither offset nor drift between hosts matters. *Posted* and *looked at* are by the
prober's clock that never steps: the agent's own waiting, which a starved agent has much of.

Edge cases: if T4 - T1 is negative or longer than the prober itself waited, its clock was stepped in between and the
waiting time stands in for it, as ``software``. If T3 - T2 does not fit into T4 - T1, the responder's was, and
nothing is subtracted; the delays are then unknown, not zero. The send time of the reply in the responder (T3 is
taken before it is handed over) is part of the network's time: about 2 us in software.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from schemas.probing import Timestamps

SLACK_NS = 20_000
"""Clocks that are slewed run apart by at most 500 ppm, 0.5 us in a millisecond; readings are a few us apart."""

LEVELS: tuple[Timestamps, ...] = ("hardware", "kernel", "software")
"""From fine to coarse."""


def coarsest(by: Iterable[Timestamps]) -> Timestamps | None:
    """The coarsest of some stamps, None of none."""
    return LEVELS[max(levels)] if (levels := [LEVELS.index(one) for one in by]) else None


def with_level(own: Timestamps, level: int) -> Timestamps:
    """The coarser of our own stamps and the responder's, whose level a reply tells; unknown levels are software."""
    return LEVELS[max(LEVELS.index(own), min(level, len(LEVELS) - 1))]


class Stamps(Struct, frozen=True):
    """All instants of one answered probe, nanoseconds. T2 and T3 are None when the peer gives none (TCP)."""

    posted_ns: int
    t1_ns: int
    t4_ns: int
    seen_ns: int
    t2_ns: int | None
    t3_ns: int | None
    by: Timestamps


class Times(Struct, frozen=True):
    """What came of them, microseconds. ``whole_us`` is T4 - T1: what decides whether a reply was late."""

    rtt_us: float
    whole_us: float
    prober_delay_us: float | None
    responder_delay_us: float | None
    by: Timestamps


def split(stamps: Stamps) -> Times:
    """Network time and delays of one probe."""
    waited_ns = max(0, stamps.seen_ns - stamps.posted_ns)
    whole_ns = stamps.t4_ns - stamps.t1_ns
    by = stamps.by
    if not 0 <= whole_ns <= waited_ns + SLACK_NS:
        whole_ns, by = waited_ns, "software"
    if stamps.t2_ns is None or stamps.t3_ns is None:
        return Times(_us(whole_ns), _us(whole_ns), _us(max(0, waited_ns - whole_ns)), None, by)
    theirs_ns = stamps.t3_ns - stamps.t2_ns
    if not 0 <= theirs_ns <= whole_ns:
        return Times(_us(whole_ns), _us(whole_ns), None, None, by)
    return Times(_us(whole_ns - theirs_ns), _us(whole_ns), _us(max(0, waited_ns - whole_ns)), _us(theirs_ns), by)


def _us(ns: int) -> float:
    return round(ns / 1000, 2)
