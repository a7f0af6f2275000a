"""One job of 16 containers x 8 RNICs for six minutes, with or without the fault in the one pair's offloaded flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import msgspec
import numpy as np
from fig18 import SECONDS, TRAIN, Fig18

from skeletonhunter.testbed.fabric import Fabric, RailSpec, port_node, rail_fabric, rnic_node
from skeletonhunter.testbed.jobs import DenseJob, Placed, gid_of, place_dense
from skeletonhunter.testbed.overlay import Flow, FlowState, rnic_row, vswitch_rows
from skeletonhunter.testbed.producers import ClockModel, Json, Line, Stream, boot_id, transport_delay_us
from skeletonhunter.testbed.telemetry import (
    Span,
    by_container,
    quiet_depths,
    send_bursts,
    send_counters,
    send_health,
    send_queues,
)
from skeletonhunter.testbed.traffic import StepShape, job_bursts, step_starts

FROZEN_S, INVALID_S, DEAD_S, STUTTER_S, ISOLATED_S, RESTORED_S = 76, 86, 187, 202, 213, 260
TIMED_OUT_S, ENDED_S, RESUMED_S = 191, 225, 262
BACKGROUND_LOSS = 2e-6
SHAPE = StepShape()


@dataclass(frozen=True)
class Story:
    """What is simulated; ``faulty`` = the one flow loses its offload."""

    name: str
    description: str
    seed: int
    t0_us: int
    faulty: bool


STALE = Story(
    name="stale-flow-offload",
    description="A job of 128 RNICs; at 86 s an RNIC loses the offload of a flow that the virtual switch still holds.",
    seed=18,
    t0_us=1_741_659_240_000_000,
    faulty=True,
)
HEALTHY = Story(
    name="healthy-job",
    description="A healthy job of 128 RNICs for six minutes.",
    seed=7,
    t0_us=1_741_745_640_000_000,
    faulty=False,
)


class World:
    """Fabric, job, clocks and streams of a story; ``draw(purpose)`` gives each purpose its own generator."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.span = Span(story.t0_us, SECONDS)
        draw = self.draw("placement")
        numbers = sorted(int(n) for n in draw.choice(np.arange(100, 1000), 16, replace=False))
        self.spec = RailSpec("fab-1", tuple(f"h-{n:04d}" for n in numbers), rails=8, hosts_per_leaf=8, spines=4)
        self.fabric: Fabric = rail_fabric(self.spec)
        order = [int(n) for n in draw.permutation(16)]
        self.job: DenseJob = place_dense(("job-7b1c", "tenant-3"), (8, 4, 4), self.spec, order)
        self.pairs = self._directed_pairs(draw)
        self.paths = [self.fabric.path(src.address, dst.address, sport) for src, dst, sport in self.pairs]
        self.monitored = self._monitored(draw) if story.faulty else None
        self.boots: dict[str, str] = {}
        self.clocks: dict[str, ClockModel] = {}
        self.streams: list[Stream] = []

    def draw(self, purpose: str) -> np.random.Generator:
        """An independent generator for each purpose."""
        return np.random.default_rng([self.story.seed, crc32(purpose.encode())])

    def _directed_pairs(self, draw: np.random.Generator) -> list[tuple[Placed, Placed, int]]:
        """Every true edge once, from alternating ends, so that each endpoint probes and is probed."""
        by_name = {p.endpoint: p for p in self.job.placed}
        sent = dict.fromkeys(by_name, 0)
        pairs = []
        for a, b, _ in self.job.edges():
            src, dst = (a, b) if sent[a] <= sent[b] else (b, a)
            sent[src] += 1
            pairs.append((by_name[src], by_name[dst], int(draw.integers(49152, 65536))))
        return sorted(pairs, key=lambda pair: (pair[0].rank, pair[1].rank))

    def _monitored(self, draw: np.random.Generator) -> int:
        """A pair across spines whose every link is shared with other pairs that start or end elsewhere."""
        users: dict[str, int] = {}
        for path in self.paths:
            for link in path:
                users[link] = users.get(link, 0) + 1
        for n in draw.permutation(len(self.pairs)):
            if len(self.paths[n]) == 4 and all(users[link] >= 2 for link in self.paths[n]):
                return int(n)
        raise AssertionError("no pair crosses the spines on shared links")

    def stream(self, topic: str, agent: str, kind: str, part: str = "", of_job: bool = False) -> Stream:
        """A new stream of an agent; the machine's clock and boot are drawn at its first one."""
        if agent not in self.boots:
            draw = self.draw(f"machine {agent}")
            self.boots[agent] = boot_id(draw)
            offset = float(draw.normal(0.0, 1.5))
            believed = round(offset + float(draw.normal(0.0, 0.8)), 2)
            self.clocks[agent] = ClockModel("ptp", offset, believed, 10.0)
        scope: Json = {"fabric": self.fabric.name}
        if of_job:
            scope |= {"job": self.job.job, "tenant": self.job.tenant}
        key = self.job.job if of_job else self.fabric.name
        version = 2 if topic == "agent-health" else 1
        stream = Stream(topic, agent, kind, self.boots[agent], self.clocks[agent], scope, key, part, version)
        self.streams.append(stream)
        return stream


def tell(story: Story, figure: Fig18) -> tuple[list[Line], Json, Span]:
    """All lines of the story, its truth, and its time."""
    world = World(story)
    send_maps(world)
    send_traffic(world)
    send_probes(world, figure)
    send_switches(world, figure)
    send_flow_tables(world)
    send_agents(world)
    return [line for stream in world.streams for line in stream.lines], truth_of(world), world.span


def send_maps(world: World) -> None:
    """Fabric map and endpoint map at the very beginning."""
    fabric = world.fabric
    body = {
        "version": 1,
        "nodes": [msgspec.to_builtins(node) for node in fabric.nodes],
        "links": [msgspec.to_builtins(link) for link in fabric.links],
        "ecmp": {"method": "traced"},
    }
    world.stream("fabric-map", "topology", "topology-adapter").send(world.span.t0_us, 4_000, body)
    body = {"version": 1, "state": "running", "reason": "job running", "endpoints": world.job.endpoint_rows()}
    world.stream("endpoint-map", "scheduler", "scheduler-adapter", of_job=True).send(world.span.t0_us, 5_000, body)


def send_traffic(world: World) -> None:
    """Steps, their bursts, and the counters that result."""
    draw = world.draw("traffic")
    first = float(draw.uniform(-SHAPE.period_s, 0.0))
    runs = [(first, TIMED_OUT_S), (RESUMED_S, SECONDS)] if world.story.faulty else [(first, SECONDS)]
    starts = step_starts(SHAPE, runs, draw)
    stops = [TIMED_OUT_S if start < TIMED_OUT_S and world.story.faulty else SECONDS + 1.0 for start in starts]
    bursts = job_bursts(world.job, SHAPE, starts, stops, draw)
    containers = by_container(world.job)
    for topic, send in (("rnic-counters", send_counters), ("rnic-bursts", send_bursts)):
        streams = {c: world.stream(topic, own[0].host, topic, c, of_job=True) for c, own in containers.items()}
        send(streams, world.job, bursts, world.span, world.draw(topic))
    progress = world.stream("job-progress", "trainer", "trainer", of_job=True)
    for step, (start, end) in enumerate(pairwise(starts)):
        if end > 0.0 and end - start < 1.5 * SHAPE.period_s:
            progress.send(world.span.at(end), 6_000, {"step": 4_000 + step, "step_s": round(end - start, 4)})


def send_probes(world: World, figure: Fig18) -> None:
    """One train per pair and second; the monitored pair's come from the figure."""
    draw, count = world.draw("probes"), len(world.pairs)
    rtt_us = np.round(np.exp(draw.normal(np.log(13.0), 0.39, (SECONDS, count))), 1)
    hops = np.array([len(path) for path in world.paths])
    lost = draw.binomial(TRAIN, np.broadcast_to(BACKGROUND_LOSS * hops, (SECONDS, count)))
    place = np.concatenate([np.arange(len(own)) for own in _runs([src.rank for src, _, _ in world.pairs])])
    at_us = np.round(1e6 * (place * 0.18 + draw.uniform(0.02, 0.16, (SECONDS, count)))).astype(int)
    streams = {
        container: world.stream("probe-results", own[0].host, "probing-agent", container, of_job=True)
        for container, own in by_container(world.job).items()
    }
    sources = _runs([src.rank for src, _, _ in world.pairs])
    for second in range(SECONDS):
        delays = transport_delay_us(draw, len(sources))
        for number, members in enumerate(sources):
            results = []
            for n in members:
                samples = [float(rtt_us[second, n])]
                if n == world.monitored:
                    value = figure.rtt_us[second]
                    samples, lost[second, n] = [] if value is None else [value], figure.lost[second]
                t_us = world.span.at(second) + int(at_us[second, n])
                results.append(_result(world, n, t_us, int(lost[second, n]), samples))
            src = world.pairs[members[0]][0]
            body = {"src": src.endpoint, "plan_version": 1, "results": results}
            streams[src.container].send(world.span.at(second + 1), float(delays[number]), body)


def _result(world: World, n: int, t_us: int, lost: int, samples: list[float]) -> Json:
    _, dst, sport = world.pairs[n]
    return {
        "dst": dst.endpoint,
        "t_us": t_us,
        "kind": "rdma",
        "outcome": "lost" if lost == TRAIN else "reply",
        "sent": TRAIN,
        "lost": lost,
        "rtt_us": [] if lost == TRAIN else samples,
        "sport": sport,
        "path": world.paths[n],
    }


def _runs(keys: list[int]) -> list[list[int]]:
    """Positions of equal neighbours, group by group."""
    groups: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def send_switches(world: World, figure: Fig18) -> None:
    """Queue depths of all ports once a second; the last hop to the monitored destination has the figure's."""
    ports: dict[str, list[str]] = {}
    for link in world.fabric.links:
        for port in (link.a, link.b):
            if not port_node(port).startswith("h-"):
                ports.setdefault(port_node(port), []).append(port.rpartition("/")[2])
    special = world.pairs[world.monitored][1].switch_port if world.monitored is not None else None
    for switch in sorted(ports):
        draw = world.draw(f"queues {switch}")
        depths: dict[str, list[int | None]] = {}
        for port in ports[switch]:
            column: list[int | None] = [round(depth) for depth in quiet_depths(SECONDS, draw).tolist()]
            if world.story.faulty:
                column[ENDED_S:RESTORED_S] = draw.integers(0, 100, RESTORED_S - ENDED_S).tolist()
            depths[port] = list(figure.depth_bytes) if f"{switch}/{port}" == special else column
        stream = world.stream("switch-queues", "switch-collector", "switch-collector", switch)
        send_queues(stream, switch, depths, world.span, transport_delay_us(draw, SECONDS))


def send_flow_tables(world: World) -> None:
    """The tables of every host and its RNICs, every ten seconds."""
    flows = [Flow(src, dst, 0x1000 + n, 9_001) for n, (src, dst, _) in enumerate(world.pairs)]
    for host in world.spec.hosts:
        draw = world.draw(f"tables {host}")
        base = draw.integers(10**6, 10**9, len(flows))
        rate = draw.uniform(9_000.0, 11_000.0, len(flows))
        stream = world.stream("flow-tables", host, "flow-dumper")
        second = float(draw.uniform(0.0, 10.0))
        while second < SECONDS:
            tables = _tables(world, host, flows, [(int(b), float(r)) for b, r in zip(base, rate, strict=True)], second)
            for number, (rnic, rows) in enumerate(tables):
                table = "vswitch" if rnic is None else "rnic"
                body = {"host": host, "rnic": rnic, "table": table, "complete": True, "flows": rows}
                stream.send(world.span.at(second + 0.002 * number), float(transport_delay_us(draw, 1)[0]), body)
            second += 10.0 + float(draw.uniform(-0.05, 0.05))


def _tables(
    world: World, host: str, flows: list[Flow], loads: list[tuple[int, float]], second: float
) -> Iterator[tuple[str | None, list[Json]]]:
    mine = [(n, flow) for n, flow in enumerate(flows) if host in (flow.src.host, flow.dst.host)]
    states = {n: _flow_state(world, n, host == flow.src.host, loads[n], second) for n, flow in mine}
    yield None, [row for n, flow in mine for row in vswitch_rows(flow, host == flow.src.host, states[n])]
    for rnic in [f"mlx5_{rail}" for rail in range(world.spec.rails)]:
        rows = []
        for n, flow in mine:
            at_source = host == flow.src.host
            if rnic == (flow.src if at_source else flow.dst).rnic and not _invalid(world, n, at_source, second):
                rows.append(rnic_row(flow, at_source, states[n]))
        yield rnic, rows


def _invalid(world: World, n: int, at_source: bool, second: float) -> bool:
    """Whether the source's RNIC has lost the flow."""
    return n == world.monitored and at_source and INVALID_S <= second < RESTORED_S


def _flow_state(world: World, n: int, at_source: bool, load: tuple[int, float], second: float) -> FlowState:
    """What the tables know of flow ``n`` at ``second``; ``load`` = packets at 0 s, packets per second."""
    base, rate = load
    idle_s = round((second * 7.3 + n * 0.37) % 0.9, 3)
    if n != world.monitored:
        packets = base + round(rate * second)
        return FlowState(packets, packets * 1_100, idle_s)
    quiet_since = next((start for start, end in _SILENT if start <= second < end), None)
    if at_source and FROZEN_S <= second < RESTORED_S:
        packets = base + round(rate * FROZEN_S)
        path = "hardware" if second < INVALID_S else "software" if quiet_since is None else None
        return FlowState(packets, packets * 1_100, round(second - FROZEN_S, 3), True, path)
    if at_source and second >= RESTORED_S:
        packets = round(rate * (second - RESTORED_S))
        return FlowState(packets, packets * 1_100, idle_s)
    seen = second if quiet_since is None else quiet_since
    packets = base + round(rate * seen)
    return FlowState(packets, packets * 1_100, idle_s if quiet_since is None else round(second - quiet_since, 3))


_SILENT = ((DEAD_S, STUTTER_S), (ISOLATED_S, RESTORED_S))
"""When no packet of the monitored pair comes through."""


def send_agents(world: World) -> None:
    """Health of the hosts' agents and of the switch collector."""
    for own in by_container(world.job).values():
        host = own[0].host
        gids = {placed.endpoint: gid_of(placed.ip) for placed in own}
        stream = world.stream("agent-health", host, "host-agent")
        send_health(stream, own, gids, world.span, world.draw(f"health {host}"))
    stream = world.stream("agent-health", "switch-collector", "switch-collector")
    send_health(stream, [], {}, world.span, world.draw("health mon-1"))


def truth_of(world: World) -> Json:
    """What happened, for scoring only."""
    faults = []
    if world.monitored is not None:
        src, dst, _ = world.pairs[world.monitored]
        faults.append(
            {
                "fault": "stale-flow",
                "issue": "offloading_failure",
                "component": f"rnic:{rnic_node(src.host, src.rnic)}",
                "start_us": world.span.at(INVALID_S),
                "end_us": world.span.at(RESTORED_S),
                "endpoints": [src.endpoint, dst.endpoint],
            }
        )
    groups = {kind: world.job.groups(kind) for kind in ("dp", "pp", "position")}
    edges = [list(edge) for edge in world.job.edges()]
    return {"faults": faults, "groups": groups, "edges": edges, "monitor_faults": []}
