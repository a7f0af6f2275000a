"""What do collectors say of a quiet, healthy system? Counters, bursts, queues and agents' health as messages.

Everything is sampled once a second by the producer's own clock and sent per interval. ``t0_us`` is the true instant of
second 0 of a recording; columns hold the samples of [from, to) seconds of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skeletonhunter.testbed.jobs import DenseJob, Placed
from skeletonhunter.testbed.producers import Json, Stream, transport_delay_us
from skeletonhunter.testbed.traffic import RX, TX, Bursts, cumulative_bytes

SECOND_US = 1_000_000


@dataclass(frozen=True)
class Span:
    """The recorded time: ``seconds`` seconds from the true instant ``t0_us``."""

    t0_us: int
    seconds: int

    def at(self, second: float) -> int:
        """The true instant of a second of the recording."""
        return self.t0_us + round(second * SECOND_US)

    def intervals(self, width_s: int) -> Iterator[tuple[int, int]]:
        """Consecutive [from, to) of ``width_s`` seconds."""
        for start in range(0, self.seconds, width_s):
            yield start, min(start + width_s, self.seconds)


def by_container(job: DenseJob) -> dict[str, list[Placed]]:
    """Endpoints of each container, in order of rank."""
    containers: dict[str, list[Placed]] = {}
    for placed in job.placed:
        containers.setdefault(placed.container, []).append(placed)
    return containers


def send_counters(
    streams: Mapping[str, Stream], job: DenseJob, bursts: Sequence[Bursts], span: Span, rng: np.random.Generator
) -> None:
    """``rnic-counters`` of every container, one message per 5 s; cumulative bytes from a random base."""
    seconds = np.arange(1, span.seconds + 1, dtype=float)
    for container, placed in by_container(job).items():
        stream = streams[container]
        noise = rng.uniform(0.0, 0.02, (len(placed), len(seconds)))
        at_us = [span.at(s) for s in seconds]
        columns = []
        for row, p in enumerate(placed):
            base = rng.integers(10**12, 10**14, 2)
            beats = np.round(400_000.0 * (seconds + noise[row]))
            tx, rx = (
                (cumulative_bytes(bursts[p.rank], way, seconds) + beats).astype(np.int64) + base[way]
                for way in (TX, RX)
            )
            columns.append((p.rnic, tx.tolist(), rx.tolist()))
        delays = transport_delay_us(rng, span.seconds)
        for start, end in span.intervals(5):
            rnics = [
                {"rnic": rnic, "t_us": at_us[start:end], "tx_bytes": tx[start:end], "rx_bytes": rx[start:end]}
                for rnic, tx, rx in columns
            ]
            body = {"container": container, "host": placed[0].host, "rnics": rnics}
            stream.send(span.at(end), delays[start], body)


def send_bursts(
    streams: Mapping[str, Stream], job: DenseJob, bursts: Sequence[Bursts], span: Span, rng: np.random.Generator
) -> None:
    """``rnic-bursts`` of every endpoint, one message per 10 s with the bursts that ended in it; 0.5 ms blunt."""
    ways = ("tx", "rx")
    for start, end in span.intervals(10):
        for placed in job.placed:
            found = bursts[placed.rank]
            mine = np.flatnonzero((found.end_s > start) & (found.end_s <= end))
            edges = rng.normal(0.0, 0.0005, (len(mine), 2))
            rows = []
            for (early, late), n in zip(edges, mine, strict=True):
                begin_us = span.at(float(found.start_s[n]) + early)
                end_us = max(span.at(float(found.end_s[n]) + late), begin_us)
                size = int(found.bytes[n])
                rows.append(
                    {"start_us": begin_us, "end_us": end_us, "bytes": size, "direction": ways[found.direction[n]]}
                )
            delay = float(transport_delay_us(rng, 1)[0])
            streams[placed.container].send(span.at(end), delay, {"endpoint": placed.endpoint, "bursts": rows})


def quiet_depths(seconds: int, rng: np.random.Generator) -> np.ndarray:
    """Depths (bytes) of an egress queue without congestion: about 1.2 kB, one second in a hundred up to 5 kB."""
    depths = np.exp(rng.normal(np.log(1_200.0), 0.28, seconds))
    rare = rng.random(seconds) < 0.01
    depths[rare] = rng.uniform(2_500.0, 5_000.0, int(rare.sum()))
    return depths


def send_queues(
    stream: Stream, switch: str, depths: Mapping[str, Sequence[int | None]], span: Span, delays: np.ndarray
) -> None:
    """``switch-queues`` of one switch, one message per 2 s; ``depths`` by port and second, null = not read."""
    for start, end in span.intervals(2):
        at_us = [span.at(second) + 10_000 for second in range(start, end)]
        zeros = [0] * (end - start)
        ports = [
            {
                "port": port,
                "queue": 3,
                "t_us": at_us,
                "depth_bytes": list(column[start:end]),
                "ecn_marked": zeros,
                "pfc_tx": zeros,
                "dropped": zeros,
            }
            for port, column in depths.items()
        ]
        stream.send(span.at(end), float(delays[start]), {"switch": switch, "ports": ports})


def send_health(stream: Stream, covered: Sequence[Placed], gids: Json, span: Span, rng: np.random.Generator) -> None:
    """``agent-health`` every 5 s: well, about 1 % CPU and 35 MB; an agent that covers nothing is a host of its own."""
    covers = [placed.endpoint for placed in covered]
    rss = rng.integers(34_000_000, 37_000_000)
    for _, end in span.intervals(5):
        body = {
            "agent": stream.agent,
            "host": covered[0].host if covered else stream.agent,
            "covers": covers,
            "state": "ok",
            "cpu_percent": round(max(0.3, float(rng.normal(1.0, 0.1))), 2),
            "rss_bytes": int(rss + rng.integers(0, 200_000)),
            "send_lag_us": round(float(transport_delay_us(rng, 1)[0]), 1),
            "dropped": 0,
            "gids": gids,
            "plan_version": 1,
        }
        stream.send(span.at(end), float(transport_delay_us(rng, 1)[0]), body)
