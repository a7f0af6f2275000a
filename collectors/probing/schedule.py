"""When does an endpoint of ours probe whom? The plan's slots, laid over time; pure.

Slot k of n begins k / n of a round after the round does, a probe of it ``jitter_s`` x its share later. Rounds begin
at multiples of their length since 1970 by the host's clock, so agents with synchronised clocks are in the same slot
and no RNIC takes part in two probes; within a round the clock that never steps counts. A train's packets are spread
over its slot, moved by a jitter of up to a quarter of their distance, which is a function of pair and round (nothing
is drawn), so that periodic traffic is not always met at the same point.

In a plan that alternates, odd rounds swap the ends; in one with turns, source ports change with the rounds.

A train has ``train_packets`` packets, fewer if the plan's ``pps_per_rnic`` does not allow so many in a slot. When an
endpoint's plan needs more than ``most_pps``, its trains take turns: one in so many rounds goes, the others are
``capped``. Rounds that nobody was there to begin (the agent was stopped) are not made up for; they come out as
``missed``.

Cost: 3 us per train.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from zlib import crc32

from msgspec import Struct

from collectors.observing import Now
from schemas.instants import SECOND_US
from schemas.probing import ProbePlan

SHORTEST_SLOT_US = 1000
JITTER = 0.25
LATEST_US = SECOND_US // 2
"""A train that could not begin for so long after its slot is left out: many at once would disturb each other."""

MISSED = "missed: the agent did not run"


class OwnProbe(Struct, frozen=True):
    """One probe of the plan that an endpoint of ours is the source of.

    ``ports``: its source port in each turn. ``parity``: 0 or 1 = in even or odd rounds only, None = in all. ``offset``:
    its share of the plan's jitter.
    """

    slot: int
    src: str
    dst: str
    ports: tuple[int, ...]
    parity: int | None = None
    offset: float = 0.0


class Start(Struct, frozen=True):
    """A train that begins now; ``packets_us``: when each packet is due, by the monotonic clock; none: held back."""

    probe: OwnProbe
    sport: int
    packets_us: tuple[int, ...]
    held_back: str | None = None


class Limits(Struct, frozen=True):
    """What a plan can't ask for: packets per second of an endpoint, and packets per train."""

    most_pps: float
    train_packets: int


class Schedule:
    """The trains of one version of a job's plan."""

    def __init__(self, plan: ProbePlan, own: frozenset[str], limits: Limits) -> None:
        self.version = plan.version
        self.job = plan.job
        self.tenant = plan.tenant
        self.probes = own_probes(plan, own)
        slots = max(1, len(plan.slots))
        self._round_us = max(round(plan.expected.round_s * SECOND_US), slots * SHORTEST_SLOT_US)
        self._slot_us = self._round_us / slots
        self._jitter_us = min(plan.jitter_s * SECOND_US, self._slot_us / 2)
        self._turn_rounds = plan.turns.turn_rounds if plan.turns else 1
        self.packets = train_size(plan, self._slot_us / SECOND_US, limits.train_packets)
        self._stride = self._turns(limits)
        self._round: int | None = None
        self._round_start_us = 0
        self._next = 0

    def _turns(self, limits: Limits) -> dict[str, int]:
        """Every how many rounds a train of each source may go."""
        trains: dict[str, float] = {}
        for probe in self.probes:
            trains[probe.src] = trains.get(probe.src, 0.0) + (1.0 if probe.parity is None else 0.5)
        allowed = limits.most_pps * self._round_us / SECOND_US
        return {src: max(1, ceil(count * self.packets / allowed - 1e-9)) for src, count in trains.items()}

    def due(self, now: Now) -> Iterator[Start]:
        """Trains whose slot has begun since it was asked last."""
        if not self.probes:
            return
        if self._round is None:
            self._begin(now)
            self._skip_past(now)
        assert self._round is not None
        while True:
            while self._next < len(self.probes):
                probe = self.probes[self._next]
                if self._starts_us(probe) > now.mono_us:
                    return
                self._next += 1
                if probe.parity in (None, self._round % 2):
                    yield self._start(probe, self._round, now)
            if now.mono_us < self._round_start_us + self._round_us:
                return
            behind = (now.mono_us - self._round_start_us) // self._round_us
            if behind > 1:
                words = f"{MISSED} for {behind} rounds"
                yield from (Start(probe, probe.ports[0], (), words) for probe in self.probes)
            self._begin(now)

    def _begin(self, now: Now) -> None:
        """Takes up the round that is on by the host's clock; one that was gone through already is waited out."""
        by_clock = now.t_us // self._round_us
        self._round = by_clock if self._round is None else max(by_clock, self._round + 1)
        self._round_start_us = now.mono_us - (now.t_us - self._round * self._round_us)
        if abs(self._round_start_us - now.mono_us) > 2 * self._round_us:  # the clock was stepped back: start from here
            self._round, self._round_start_us = by_clock, now.mono_us
        self._next = 0

    def _skip_past(self, now: Now) -> None:
        """A plan taken up in the midst of a round begins with the slot that is on."""
        while self._next < len(self.probes):
            if self._starts_us(self.probes[self._next]) + self._slot_us > now.mono_us:
                return
            self._next += 1

    def _starts_us(self, probe: OwnProbe) -> float:
        return self._round_start_us + probe.slot * self._slot_us + probe.offset * self._jitter_us

    def _start(self, probe: OwnProbe, number: int, now: Now) -> Start:
        sport = probe.ports[number // self._turn_rounds % len(probe.ports)]
        stride, own_turn = self._stride[probe.src], number if probe.parity is None else number // 2
        if stride > 1 and (own_turn + crc32(probe.dst.encode())) % stride:
            return Start(probe, sport, (), f"capped: the plan asks for {stride} times as much as this agent may send")
        begin_us = self._starts_us(probe)
        if now.mono_us > begin_us + self._slot_us + LATEST_US:
            return Start(probe, sport, (), MISSED)
        gap_us = (self._slot_us - self._jitter_us) / self.packets
        begin_us += crc32(f"{probe.src} {probe.dst} {number}".encode()) / 2**32 * JITTER * gap_us
        return Start(probe, sport, tuple(round(begin_us + i * gap_us) for i in range(self.packets)))

    def next_us(self) -> int | None:
        """On the monotonic clock: when the next train is due; None: there is none."""
        if not self.probes or self._round is None:
            return None if not self.probes else 0
        if self._next < len(self.probes):
            return round(self._starts_us(self.probes[self._next]))
        return self._round_start_us + self._round_us


def own_probes(plan: ProbePlan, own: frozenset[str]) -> tuple[OwnProbe, ...]:
    """Probes whose source is ours, in order of their beginnings; none of a disabled plan."""
    if plan.mode == "disabled":
        return ()
    turns = plan.turns.turns if plan.turns else 1
    later = {(src, dst): ports for src, dst, ports in plan.turns.changing} if plan.turns else {}
    found = []
    for slot, probes in enumerate(plan.slots):
        for src, dst, sport in probes:
            if src not in own and not (plan.alternate and dst in own):
                continue
            ports = (sport, *later.get((src, dst), (sport,) * (turns - 1)))
            offset = crc32(f"{src}>{dst}".encode()) / 2**32
            if src in own:
                found.append(OwnProbe(slot, src, dst, ports, 0 if plan.alternate else None, offset))
            if plan.alternate and dst in own:
                found.append(OwnProbe(slot, dst, src, ports, 1, offset))
    return tuple(sorted(found, key=lambda probe: (probe.slot, probe.offset)))


def train_size(plan: ProbePlan, slot_s: float, wanted: int) -> int:
    """Packets of a train: what is wanted, and at least one, as far as the plan's rate allows within a slot."""
    pps = plan.budget.pps_per_rnic
    return wanted if pps is None else max(1, min(wanted, int(pps * slot_s / plan.probes_per_slot + 1e-6)))
