"""A fabric of tens of thousands of RNICs as detection tells of it: maps, pair windows, anomalies of faults.

Used by ``localization_fleet.py``, which says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.diagnosis import Anomaly, Observed, PairWindows
from schemas.envelope import Clock, Producer
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, Endpoint, FabricEndpoints, FabricMap, Link, Node

RAILS, POD_HOSTS, SPINES, TARGETS, PACKETS = 8, 128, 16, 9, 100
SIZES = (64, 128, 512, 1_024, 2_048)
BACKGROUND = 1e-5
MOST_ANOMALIES = 18
BEGIN_US = 1_753_000_200 * SECOND_US
CLOCK = Clock(source="ptp", offset_us=0.2, error_us=1.0)
Numbers = npt.NDArray[np.int64]


def envelope(kind: str, t_us: int) -> dict[str, object]:
    """The common fields of a message."""
    producer = Producer(id=kind, kind="service", boot="b", seq=t_us // SECOND_US)
    return {"v": 1, "t_us": t_us, "producer": producer, "clock": CLOCK, "fabric": "f"}


def fabric_map(hosts: int) -> FabricMap:
    """Nodes and links of the whole fabric."""
    pods = -(-hosts // POD_HOSTS)
    nodes = [Node(id=f"s{rail}-{n}", kind="spine") for rail in range(RAILS) for n in range(SPINES)]
    nodes += [Node(id=f"l{pod}-{rail}", kind="leaf") for pod in range(pods) for rail in range(RAILS)]
    nodes += [Node(id=f"h{host}/r{rail}", kind="rnic") for host in range(hosts) for rail in range(RAILS)]
    links = [
        Link(id=f"u{pod}-{rail}-{n}", a=f"l{pod}-{rail}/up{n}", b=f"s{rail}-{n}/p{pod}")
        for pod in range(pods)
        for rail in range(RAILS)
        for n in range(SPINES)
    ]
    links += [
        Link(id=f"a{host}-{rail}", a=f"h{host}/r{rail}/1", b=f"l{host // POD_HOSTS}-{rail}/d{host % POD_HOSTS}")
        for host in range(hosts)
        for rail in range(RAILS)
    ]
    body = envelope("map", BEGIN_US)
    return FabricMap(**body, version=1, nodes=tuple(nodes), links=tuple(links), ecmp=Ecmp(method="traced"))


@dataclass(frozen=True, slots=True)
class Job:
    """Probes of one job: columns of host and rail of both ends, and the spine that the port leads over."""

    name: str
    hosts: range
    src: Numbers
    dst: Numbers
    rail: Numbers
    spine: Numbers

    def endpoints(self) -> FabricEndpoints:
        """Its endpoint map."""
        rows = tuple(
            Endpoint(
                endpoint=f"{self.name}-c{host}/r{rail}",
                container=f"{self.name}-c{host}",
                host=f"h{host}",
                rnic=f"r{rail}",
                rail=rail,
                switch_port=f"l{host // POD_HOSTS}-{rail}/d{host % POD_HOSTS}",
                state="ready",
            )
            for host in self.hosts
            for rail in range(RAILS)
        )
        return FabricEndpoints(**envelope("maps", BEGIN_US), job=self.name, version=1, state="running", endpoints=rows)

    def crosses(self, fault: Broken) -> npt.NDArray[np.bool_]:
        """Which probes lose packets by a fault, on the way there or back (replies come as probes went)."""
        pods = self.src // POD_HOSTS, self.dst // POD_HOSTS
        apart = pods[0] != pods[1]
        if fault.kind == "rnic":
            return (self.rail == fault.rail) & ((self.src == fault.at) | (self.dst == fault.at))
        if fault.kind == "spine":
            return apart & (self.rail == fault.rail) & (self.spine == fault.at)
        here = (self.rail == fault.rail) & ((pods[0] == fault.at) | (pods[1] == fault.at))
        return here if fault.kind == "leaf" else here & apart & (self.spine == fault.spine)


@dataclass(frozen=True, slots=True)
class Broken:
    """A fault: ``at`` = host, spine or pod; ``second``: its onset."""

    kind: str
    rail: int
    at: int
    second: int
    loss: float
    spine: int = 0

    @property
    def names(self) -> set[str]:
        """Components whose blame is right."""
        if self.kind == "rnic":
            return {f"rnic:h{self.at}/r{self.rail}", f"link:a{self.at}-{self.rail}"}
        if self.kind == "link":
            return {f"link:u{self.at}-{self.rail}-{self.spine}"}
        return {f"switch:{'s' if self.kind == 'spine' else 'l'}{self.rail}-{self.at}", f"switch:l{self.at}-{self.rail}"}


def jobs_of(hosts: int, draw: np.random.Generator) -> list[Job]:
    """Jobs of the paper's sizes in turn until the fabric is full."""
    found: list[Job] = []
    first = 0
    while first < hosts:
        size = min(SIZES[len(found) % len(SIZES)] // RAILS, hosts - first)
        src = np.repeat(np.arange(size), RAILS * TARGETS)
        rail = np.tile(np.repeat(np.arange(RAILS), TARGETS), size)
        step = np.tile(np.arange(1, TARGETS + 1), size * RAILS)
        dst = (src + step * max(1, size // (TARGETS + 1))) % size
        keep = src != dst
        spine = draw.integers(0, SPINES, len(src))
        span = range(first, first + size)
        found.append(Job(f"j{len(found)}", span, *(a[keep] for a in (src + first, dst + first, rail, spine))))
        first += size
    return found


class Fleet:
    """What detection sends of all jobs."""

    def __init__(self, jobs: list[Job], faults: list[Broken], seed: int) -> None:
        self.jobs, self.faults, self.draw = jobs, faults, np.random.default_rng(seed)
        self.names = [self._names(job) for job in jobs]
        self.opened: set[tuple[int, int]] = set()
        self.told: dict[Broken, int] = {}

    @staticmethod
    def _names(job: Job) -> tuple[list[str], list[str], list[tuple[str, ...]], Numbers]:
        src = [f"{job.name}-c{host}/r{rail}" for host, rail in zip(job.src, job.rail, strict=True)]
        dst = [f"{job.name}-c{host}/r{rail}" for host, rail in zip(job.dst, job.rail, strict=True)]
        paths: dict[tuple[str, ...], int] = {}
        number = []
        for a, b, rail, spine in zip(job.src.tolist(), job.dst.tolist(), job.rail.tolist(), job.spine, strict=True):
            pods = a // POD_HOSTS, b // POD_HOSTS
            middle = [f"u{pods[0]}-{rail}-{spine}", f"u{pods[1]}-{rail}-{spine}"] if pods[0] != pods[1] else []
            number.append(paths.setdefault((f"a{a}-{rail}", *middle, f"a{b}-{rail}"), len(paths)))
        return src, dst, list(paths), np.array(number)

    def second(self, number: int) -> Iterator[tuple[str, PairWindows | Anomaly]]:
        """All messages of a second, anomalies first, as detection sends them."""
        t_us = BEGIN_US + number * SECOND_US
        for at, job in enumerate(self.jobs):
            chance = np.full(len(job.src), BACKGROUND)
            for fault in self.faults:
                if fault.second < number:
                    chance = np.where(job.crosses(fault), np.maximum(chance, fault.loss), chance)
            lost = self.draw.binomial(PACKETS, chance)
            yield from ((("anomalies"), each) for each in self._anomalies(at, number, t_us))
            yield "pair-windows", self._windows(at, lost, t_us)

    def _windows(self, at: int, lost: Numbers, t_us: int) -> PairWindows:
        src, dst, paths, number = self.names[at]
        size = len(src)
        order = self.draw.permutation(size)
        return PairWindows(
            **envelope("detection", t_us),
            job=self.jobs[at].name,
            window_s=1.0,
            src=tuple(src[n] for n in order),
            dst=tuple(dst[n] for n in order),
            sport=tuple((49_152 + self.jobs[at].spine[order]).tolist()),
            path=tuple(number[order].tolist()),
            sent=(PACKETS,) * size,
            lost=tuple(lost[order].tolist()),
            rtt_us=(13.0,) * size,
            paths=tuple(paths),
        )

    def _anomalies(self, at: int, number: int, t_us: int) -> Iterator[Anomaly]:
        """Of each fault at most ``MOST_ANOMALIES`` new ones in a second."""
        src, dst, paths, path = self.names[at]
        for fault in self.faults:
            if number < fault.second + 2 or fault.loss < 0.1:
                continue
            hit = [n for n in np.flatnonzero(self.jobs[at].crosses(fault)).tolist() if (at, n) not in self.opened]
            for n in hit[:MOST_ANOMALIES]:
                self.opened.add((at, n))
                self.told.setdefault(fault, t_us)
                yield Anomaly(
                    **envelope("detection", t_us),
                    job=self.jobs[at].name,
                    anomaly=f"x{at}-{n}",
                    src=src[n],
                    dst=dst[n],
                    symptom="unconnectivity" if fault.loss == 1.0 else "packet_loss",
                    onset_us=BEGIN_US + fault.second * SECOND_US,
                    detected_us=t_us,
                    detector="failed-trains" if fault.loss == 1.0 else "loss-cusum",
                    score=20.0,
                    baseline=Observed(loss=0.0, rtt_us=13.0),
                    observed=Observed(loss=fault.loss, rtt_us=None, sent=PACKETS, window_s=1.0),
                    path=paths[int(path[n])],
                    state="open",
                )


def broken(scene: str, hosts: int, quiet: int, draw: np.random.Generator) -> list[Broken]:
    """The faults of a scene."""
    pods = -(-hosts // POD_HOSTS)
    if scene == "leaf":
        return [Broken("leaf", 3, pods // 2, quiet + 2, 1.0)]
    found = []
    for number in range(24):
        second = quiet + 2 + int(draw.integers(0, 50))
        rail, host, pod = (int(draw.integers(0, size)) for size in (RAILS, hosts, pods))
        if number % 2:
            found.append(Broken("rnic", rail, host, second, float(draw.choice([0.2, 1.0]))))
        else:
            found.append(Broken("link", rail, pod, second, float(draw.choice([0.02, 0.3])), int(draw.integers(SPINES))))
    return found
