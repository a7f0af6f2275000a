"""What do the probing agents report? Each second: the probes that their plans ask for, flown, as messages.

An agent sends nothing to a target that is not ready, and says so. A starved agent sends late or not at all. With
hardware time stamps ``rtt_us`` is network time and the agents' delays stand beside it; without, RTT contains them.
Cost: about 5 us per train.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import orjson

from skeletonhunter.testbed.agents import Sidecars
from skeletonhunter.testbed.effects import Effects
from skeletonhunter.testbed.flows import FlowLedger
from skeletonhunter.testbed.physics import Outcome, Queues, Trains, fly
from skeletonhunter.testbed.plans import Plan, Probes
from skeletonhunter.testbed.producers import Clocks, Line, Registry, Stream
from skeletonhunter.testbed.world import World

DELAY_US, DELAY_SPREAD = 1.5, 0.4
SAMPLES = (b"", b"%.1f", b"%.1f,%.1f", b"%.1f,%.1f,%.1f")
"""How so many RTT samples are written: a scenario asks for three at most."""


@dataclass
class Prober:
    """Carries out plans. ``touched``: trains that met each impairment; ``amend``: puts in measured outcomes."""

    world: World
    effects: Effects
    registry: Registry
    sidecars: Sidecars
    queues: Queues
    flows: FlowLedger
    rng: np.random.Generator
    streams: dict[int, Stream] = field(default_factory=dict)
    touched: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    amend: Callable[[Trains, Outcome], Outcome] | None = None

    def __post_init__(self) -> None:
        members = self.world.members
        self.ready_s = np.array([m.ready_s for m in members])
        self.gone_s = np.array([m.gone_s for m in members])
        self.clocks = Clocks([self.registry.machine(m.host) for m in members])
        self.suffered = self.effects.impairments + self.effects.mute
        self.touched = np.zeros(len(self.suffered), dtype=int)
        self.names = [orjson.dumps(m.endpoint) for m in members]

    def second(self, second: int) -> list[Line]:
        """The messages about the probes of [second, second + 1)."""
        lines: list[Line] = []
        self.sidecars.retire(second)
        silent = self.sidecars.silent(second)
        for index, plan in enumerate(self.sidecars.plans):
            follows = self.sidecars.following(index, second) & ~silent
            probes = plan.during(second)
            probes = probes.only(follows[probes.src] & self._up(probes.src, probes.at_s))
            if len(probes.src):
                lines += self._probe(second, probes, plan)
        return lines

    def _up(self, member: np.ndarray, at_s: np.ndarray) -> np.ndarray:
        up: np.ndarray = (self.ready_s[member] <= at_s) & (at_s < self.gone_s[member])
        return up

    def _probe(self, second: int, probes: Probes, plan: Plan) -> list[Line]:
        probes = probes.only(np.lexsort((probes.at_s, probes.src)))
        src, dst, sport, at_s = probes.src, probes.dst, probes.sport, probes.at_s
        path = self.world.paths.look_up(src, dst, sport, self.world.paths.epoch_at(second))
        trains = Trains(src, dst, path, sport, at_s)
        ready = self._up(dst, at_s)
        train = self.world.scenario.probes_per_train
        sent = np.where(ready, min(train, plan.packets or train), 0)
        outcome = fly(trains, sent, self.world.paths, self.suffered, self.queues, self.rng)
        if self.amend is not None:
            outcome = self.amend(trains, outcome)
        delays = self._delays(trains, sent, second)
        self.touched = self.touched + np.array(outcome.touched, dtype=int)
        self.flows.add_trains(trains, sent - outcome.lost, sent, second)
        return self._report(second, trains, _Results(outcome, sent, ready, *delays), plan.version)

    def _delays(self, trains: Trains, sent: np.ndarray, second: int) -> tuple[np.ndarray, np.ndarray]:
        """Delays (us) of prober and responder; starved agents also lose probes before they are sent (in place)."""
        count = len(trains.src)
        mine, theirs = (self.rng.lognormal(np.log(DELAY_US), DELAY_SPREAD, count) for _ in range(2))
        for state, covered in self.sidecars.states(second):
            slow = self.rng.lognormal(np.log(state.delay_us), 0.8, count)
            mine = np.where(covered[trains.src], mine + slow, mine)
            theirs = np.where(covered[trains.dst], theirs + slow, theirs)
            sent[covered[trains.src] & (self.rng.random(count) < state.not_sent)] = 0
        return mine, theirs

    def _report(self, second: int, trains: Trains, results: _Results, version: int) -> list[Line]:
        borders = [0, *(np.flatnonzero(np.diff(trains.src)) + 1).tolist(), len(trains.src)]
        rendered = self._render(trains, results, self.clocks.stamps(trains.src, trains.start_s))
        lines: list[Line] = []
        for low, high in pairwise(borders):
            member = int(trains.src[low])
            results_json = b",".join(rendered[low:high])
            body = b'"src":%b,"plan_version":%d,"results":[%b]' % (self.names[member], version, results_json)
            lines += self._stream(member).send_raw(second + 1, body)
        return lines

    def _stream(self, number: int) -> Stream:
        if number not in self.streams:
            member, job = self.world.members[number], self.world.job_of[number]
            self.streams[number] = self.registry.stream(
                "probe-results",
                member.container,
                "probing-agent",
                machine=member.host,
                job={"job": job.name, "tenant": job.tenant},
            )
        return self.streams[number]

    def _render(self, trains: Trains, results: _Results, stamps: list[int]) -> list[bytes]:
        scenario = self.world.scenario
        traced = scenario.fabric.paths == "traced"
        kinds = self._kinds(trains)
        rtt = results.rtt_us(scenario.telemetry.hardware_stamps)
        delayed = scenario.telemetry.hardware_stamps
        rows = []
        columns = (trains.dst, trains.path, trains.sport, *results.columns())
        for n, (dst, path, sport, sent, lost, ready, mine, theirs) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            answered = sent - lost
            times = [value for value in rtt[n][: min(scenario.rtt_samples, answered)] if value > 0]
            samples = SAMPLES[len(times)] % tuple(times)
            word = _outcome(sent, answered, ready)
            row = b'{"dst":%b,"t_us":%d,"kind":"%b","outcome":"%b","sent":%d,"lost":%d,"rtt_us":[%b],"sport":%d' % (
                self.names[dst],
                stamps[n],
                kinds[n],
                word,
                sent,
                lost,
                samples,
                sport,
            )
            if delayed and answered:
                row += b',"prober_delay_us":%.1f,"responder_delay_us":%.1f' % (mine, theirs)
            rows.append(row + (b',"path":%b}' % self.world.paths.json[path] if traced else b"}"))
        return rows

    def _kinds(self, trains: Trains) -> list[bytes]:
        kinds = [b"rdma"] * len(trains.src)
        for where, when, transport in self.effects.transports:
            hit = (where.crossings(trains, self.world.paths) > 0) & when.holds(trains.start_s)
            for n in np.flatnonzero(hit).tolist():
                kinds[n] = transport.encode()
        return kinds


class _Results:
    """Columns of what came of trains."""

    def __init__(
        self, outcome: Outcome, sent: np.ndarray, ready: np.ndarray, prober_us: np.ndarray, responder_us: np.ndarray
    ) -> None:
        self.lost = np.minimum(outcome.lost, sent)
        self.sent, self.ready = sent, ready
        self.prober_us, self.responder_us = prober_us, responder_us
        self._network_us = outcome.rtt_us

    def columns(self) -> tuple[np.ndarray, ...]:
        """Packets sent and lost, whether the target was ready, delays (us) of prober and responder."""
        return self.sent, self.lost, self.ready, self.prober_us, self.responder_us

    def rtt_us(self, hardware_stamps: bool) -> list[list[float]]:
        """Samples per train: network time, or with both agents' delays in it."""
        extra = 0.0 if hardware_stamps else (self.prober_us + self.responder_us)[:, None]
        rows: list[list[float]] = (self._network_us + extra).tolist()
        return rows


def _outcome(sent: int, answered: int, ready: bool) -> bytes:
    if sent == 0:
        return b"not_sent" if ready else b"target_not_ready"
    return b"reply" if answered else b"lost"
