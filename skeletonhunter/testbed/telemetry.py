"""What do collectors read? Counters of RNICs, their bursts, queues of switches: sampled, rounded, with holes.

Hosts poll about once a second, by a poll clock of their own that jitters; some drivers refresh their counters less
often than they are polled. Some values can't be read (null), some drivers reload and counters begin anew. Messages go
out every 5 s (counters), 10 s (bursts), 2 s (queues).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson

from skeletonhunter.testbed.activity import JobActivity
from skeletonhunter.testbed.effects import Effects
from skeletonhunter.testbed.members import Member
from skeletonhunter.testbed.producers import Line, Machine, Registry
from skeletonhunter.testbed.queues import QueueModel, quiet_depths
from skeletonhunter.testbed.traffic import RX, TX
from skeletonhunter.testbed.world import World

COUNTERS_S, BURSTS_S, QUEUES_S = 5, 10, 2
KEEPALIVE_BYTES_S = 400_000.0
EDGE_S = 0.0005
PRIORITY = 3
QUEUE_COUNTERS = ("ecn_marked", "pfc_rx", "pfc_tx", "dropped", "crc_errors")
NOTHING_COUNTED = b"".join(b',"%b":[0,0]' % counter.encode() for counter in QUEUE_COUNTERS)


Readings = tuple[list[int], list[tuple[list[int | None], list[int | None]]]]
"""Stamps of a container's samples, and per member its tx and rx column."""


@dataclass
class Counters:
    """``rnic-counters`` of all containers."""

    world: World
    effects: Effects
    registry: Registry
    activities: tuple[JobActivity, ...]
    rng: np.random.Generator
    refresh_s: dict[str, float] = field(default_factory=dict)
    reset_s: dict[str, float] = field(default_factory=dict)
    base: dict[int, tuple[int, int]] = field(default_factory=dict)
    read: dict[str, Readings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan = self.world.scenario.telemetry
        for host in self.world.hosts:
            self.refresh_s[host] = float(self.rng.choice([0.0, 0.0, 0.0, 0.5, 2.0]))
            resets = self.rng.random() < plan.resets
            self.reset_s[host] = float(self.rng.uniform(0.0, self.world.span.seconds)) if resets else np.inf
        for member in self.world.members:
            self.base[member.number] = (int(self.rng.integers(10**12, 10**14)), int(self.rng.integers(10**12, 10**14)))

    def second(self, second: int) -> list[Line]:
        """Messages of the containers whose interval ends at ``second``."""
        lines: list[Line] = []
        for activity in self.activities:
            for number, (container, members) in enumerate(activity.job.containers().items()):
                alive = members[0].created_s <= second - COUNTERS_S and second <= members[0].gone_s
                if second and (second + number) % COUNTERS_S == 0 and alive:
                    lines += self._send(activity, container, members, second)
        return lines

    def _send(self, activity: JobActivity, container: str, members: list[Member], second: int) -> list[Line]:
        host, job = members[0].host, activity.job
        stream = self.registry.stream(
            "rnic-counters",
            host,
            "host-agent",
            machine=host,
            part=container,
            job={"job": job.name, "tenant": job.tenant},
        )
        if container not in self.read:
            self.read[container] = self._read(activity, members, stream.machine)
        window = slice(second - COUNTERS_S, second)
        stamps, columns = self.read[container]
        rnics = [
            {"rnic": member.rnic, "t_us": stamps[window], "tx_bytes": tx[window], "rx_bytes": rx[window]}
            for member, (tx, rx) in zip(members, columns, strict=True)
        ]
        return stream.send(second, {"container": container, "host": host, "rnics": rnics})

    def _read(self, activity: JobActivity, members: list[Member], machine: Machine) -> Readings:
        """All that a container's counters will show: stamps, and (tx, rx) per member."""
        seconds = np.arange(1, self.world.span.seconds + 1)
        at_s = np.maximum(seconds - 0.05 + self.rng.normal(0.0, 0.008, len(seconds)), 0.001)
        refresh = self.refresh_s[members[0].host]
        read_s = np.floor(at_s / refresh) * refresh if refresh else at_s
        return machine.stamps(at_s), [
            (self._column(activity, member, TX, read_s), self._column(activity, member, RX, read_s))
            for member in members
        ]

    def _column(self, activity: JobActivity, member: Member, way: int, at_s: np.ndarray) -> list[int | None]:
        unread = self.rng.random(len(at_s)) < self.world.scenario.telemetry.unread
        for broken, when in self.effects.unreadable:
            if member.number in broken:
                unread |= when.holds(at_s)
        column: list[int | None] = self._values(activity, member, way, at_s)  # type: ignore[assignment]
        for gap in np.flatnonzero(unread).tolist():
            column[gap] = None
        return column

    def _values(self, activity: JobActivity, member: Member, way: int, at_s: np.ndarray) -> list[int]:
        moved = activity.bytes_until(member.number, way, at_s) + KEEPALIVE_BYTES_S * at_s
        reset_s = self.reset_s[member.host]
        since = activity.bytes_until(member.number, way, np.array([reset_s]))[0] if np.isfinite(reset_s) else 0.0
        base = self.base[member.number][way]
        after = np.maximum(moved - since - KEEPALIVE_BYTES_S * min(reset_s, 1e9), 0.0)
        values: list[int] = np.where(at_s >= reset_s, after, moved + base).astype(np.int64).tolist()
        return values


@dataclass
class BurstReports:
    """``rnic-bursts`` of all endpoints; edges are blunt by ``EDGE_S``."""

    world: World
    registry: Registry
    activities: tuple[JobActivity, ...]
    rng: np.random.Generator

    def second(self, second: int) -> list[Line]:
        """Messages of the endpoints whose interval ends at ``second``."""
        lines: list[Line] = []
        for activity in self.activities:
            for number, members in enumerate(activity.job.containers().values()):
                alive = members[0].created_s <= second - BURSTS_S and second <= members[0].gone_s
                if second and (second + 3 * number) % BURSTS_S == 0 and alive:
                    for member in members:
                        lines += self._send(activity, member, second)
        return lines

    def _send(self, activity: JobActivity, member: Member, second: int) -> list[Line]:
        job = activity.job
        stream = self.registry.stream(
            "rnic-bursts",
            member.host,
            "host-agent",
            machine=member.host,
            part=member.container,
            job={"job": job.name, "tenant": job.tenant},
        )
        found = activity.of(member.number)
        mine = np.flatnonzero((found.end_s > max(second - BURSTS_S, 0)) & (found.end_s <= second))
        edges = self.rng.normal(0.0, EDGE_S, (len(mine), 2))
        start, end = found.start_s[mine] + edges[:, 0], found.end_s[mine] + edges[:, 1]
        begun = stream.machine.stamps(start)
        ended = [at + length for at, length in zip(begun, _micros(np.maximum(end - start, 0.0)), strict=True)]
        rows = [
            b'{"start_us":%d,"end_us":%d,"bytes":%d,"direction":"%b"}' % row
            for row in zip(
                begun,
                ended,
                found.bytes[mine].astype(int).tolist(),
                [b"rx" if way else b"tx" for way in found.direction[mine].tolist()],
                strict=True,
            )
        ]
        body = b'"endpoint":%b,"bursts":[%b]' % (orjson.dumps(member.endpoint), b",".join(rows))
        return stream.send_raw(second, body)


def _micros(seconds: np.ndarray) -> list[int]:
    """Durations are measured by a clock that is never set."""
    whole: list[int] = np.round(seconds * 1e6).astype(np.int64).tolist()
    return whole


@dataclass
class QueueReports:
    """``switch-queues`` of all switches that are up."""

    world: World
    effects: Effects
    registry: Registry
    model: QueueModel
    rng: np.random.Generator

    shown: dict[int, Sequence[int | None]] = field(default_factory=dict)
    """Measured depths per second, in place of modelled ones, by hop."""

    def __post_init__(self) -> None:
        self.ports: dict[str, list[int]] = {switch: [] for switch in self.world.fabric.switches()}
        for switch, hops in self.ports.items():
            hops += [hop for _, hop in self.world.fabric.around[switch]]
        self.totals = {key: np.cumsum(values).astype(int) for key, values in self.model.counted.items()}
        self.counting = {hop for hop, _ in self.totals}

    def second(self, second: int) -> list[Line]:
        """Messages of the switches whose interval ends at ``second``."""
        lines: list[Line] = []
        for number, (switch, hops) in enumerate(self.ports.items()):
            if second >= QUEUES_S and (second + number) % QUEUES_S == 0:
                lines += self._send(switch, hops, second)
        return lines

    def _send(self, switch: str, hops: list[int], second: int) -> list[Line]:
        stream = self.registry.stream("switch-queues", "switch-collector", "switch-collector", part=switch, job={})
        seconds = range(second - QUEUES_S, second)
        at_us = orjson.dumps([stream.machine.stamp(s + 0.9) for s in seconds])
        depths = quiet_depths((len(hops), QUEUES_S), self.rng).astype(int)
        ports = []
        for place, hop in enumerate(hops):
            values = orjson.dumps(self._depths(hop, seconds, depths[place].tolist()))
            name = self.world.fabric.port_of(hop).rpartition("/")[2].encode()
            columns = b'"port":"%b","queue":%d,"t_us":%b,"depth_bytes":%b' % (name, PRIORITY, at_us, values)
            ports.append(b"{%b%b}" % (columns, self._counters(hop, second)))
        return stream.send_raw(second, b'"switch":"%b","ports":[%b]' % (switch.encode(), b",".join(ports)))

    def _depths(self, hop: int, seconds: range, quiet: list[int]) -> list[int | None]:
        if hop in self.shown:
            return [self.shown[hop][second] for second in seconds]
        depth = self.model.depths.get(hop)
        return list(quiet) if depth is None else depth[list(seconds)].astype(int).tolist()

    def _counters(self, hop: int, second: int) -> bytes:
        if hop not in self.counting:
            return NOTHING_COUNTED
        parts = []
        for counter in QUEUE_COUNTERS:
            total = self.totals.get((hop, counter))
            values = (0, 0) if total is None else (int(total[second - 2]), int(total[second - 1]))
            parts.append(b',"%b":[%d,%d]' % (counter.encode(), *values))
        return b"".join(parts)
