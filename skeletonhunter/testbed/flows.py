"""Which flows do hosts know, since when, and what do their tables say? Flows that age, are offloaded, and are dumped.

A flow (source, destination) comes into being with its first packet, is offloaded at once, and is forgotten
``IDLE_S`` after its last one. Packets are those of probes (both directions of a train) and of the job. Dumps take one
message for the virtual switch and one per RNIC; each host has its own phase. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skeletonhunter.testbed.effects import Effects, FlowView
from skeletonhunter.testbed.overlay import FlowRows, FlowState, flow_rows
from skeletonhunter.testbed.paths import edge_port
from skeletonhunter.testbed.physics import Trains
from skeletonhunter.testbed.producers import Line, Registry
from skeletonhunter.testbed.world import World

IDLE_S = 10.0
VNI = 9_000


class _Placed(NamedTuple):
    """A flow as one host sees it: is it the source's, on which RNIC, with which rows?"""

    at_source: bool
    rnic: str
    rows: FlowRows


@dataclass
class FlowLedger:
    """All flows that were ever seen. By number: packets, when last sent, when last received."""

    world: World
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    packets: np.ndarray = field(default_factory=lambda: np.zeros(1024))
    last_s: np.ndarray = field(default_factory=lambda: np.full(1024, -np.inf))
    received_s: np.ndarray = field(default_factory=lambda: np.full(1024, -np.inf))
    by_host: dict[str, list[int]] = field(default_factory=dict)
    by_path: np.ndarray = field(default_factory=lambda: np.full((1024, 2), -1, dtype=int))

    def number(self, src: int, dst: int) -> int:
        """The number of a flow, new if it is."""
        key = (src, dst)
        known = self.numbers.get(key)
        return self._add(key) if known is None else known

    def _add(self, key: tuple[int, int]) -> int:
        number = self.numbers[key] = len(self.pairs)
        if number == len(self.packets):
            self.packets = np.concatenate([self.packets, np.zeros(number)])
            self.last_s, self.received_s = (
                np.concatenate([column, np.full(number, -np.inf)]) for column in (self.last_s, self.received_s)
            )
        self.pairs.append(key)
        self.packets[number] = float((key[0] * 7919 + key[1] * 15_485_863) % 100_003_393)
        members = self.world.members
        for host in {members[key[0]].host, members[key[1]].host}:
            self.by_host.setdefault(host, []).append(number)
        return number

    def add_trains(self, trains: Trains, answered: np.ndarray, sent: np.ndarray, second: int) -> None:
        """Counts the packets of trains: there as many as were sent, back as many as were answered."""
        there, back = self._both(trains)
        out, home = sent > 0, answered > 0
        self.add(there[out], sent[out], second, home[out])
        self.add(back[home], answered[home], second, home[home])

    def _both(self, trains: Trains) -> np.ndarray:
        """Flow numbers there (first row) and back of each train; a row of the path table is worked out once."""
        last = int(trains.path.max(initial=-1))
        if last >= len(self.by_path):
            more = max(last + 1 - len(self.by_path), len(self.by_path))
            self.by_path = np.concatenate([self.by_path, np.full((more, 2), -1, dtype=int)])
        for at in np.flatnonzero(self.by_path[trains.path, 0] < 0).tolist():
            src, dst = int(trains.src[at]), int(trains.dst[at])
            self.by_path[trains.path[at]] = (self.number(src, dst), self.number(dst, src))
        both: np.ndarray = self.by_path[trains.path].T
        return both

    def add(self, flows: np.ndarray, packets: np.ndarray, second: float, arrived: np.ndarray) -> None:
        """Counts packets of flows in the second from ``second`` on; ``arrived``: their destination saw them too."""
        np.add.at(self.packets, flows, packets)
        self.last_s[flows] = second + 1.0
        self.received_s[flows[arrived]] = second + 1.0


@dataclass
class FlowDumper:
    """Dumps the tables of every host. ``job_traffic(second)`` tells the ledger what the jobs sent."""

    world: World
    effects: Effects
    registry: Registry
    ledger: FlowLedger
    rng: np.random.Generator
    job_traffic: Callable[[int], None]
    placed: dict[tuple[str, int], _Placed] = field(default_factory=dict)
    frozen: dict[float, np.ndarray] = field(default_factory=dict)
    """Counters of all flows at the instants at which some stop."""

    def __post_init__(self) -> None:
        every = self.world.scenario.telemetry.flow_tables_s
        self.next_s = {host: float(self.rng.uniform(0.0, every)) for host in self.world.hosts}

    def second(self, second: int) -> list[Line]:
        """Dumps that end in [second, second + 1)."""
        self.job_traffic(second)
        self._freeze(second)
        lines: list[Line] = []
        for host, at_s in self.next_s.items():
            if second <= at_s < second + 1:
                lines += self._dump(host, at_s)
                every = self.world.scenario.telemetry.flow_tables_s
                self.next_s[host] = at_s + every + float(self.rng.uniform(-0.05, 0.05))
        return lines

    def _freeze(self, second: int) -> None:
        """Remembers the counters of flows whose counting stops in this second."""
        for since_s in {view.frozen_s for view in self.effects.views} - {None, *self.frozen}:
            if since_s is not None and since_s <= second:
                self.frozen[since_s] = self.ledger.packets.copy()

    def _dump(self, host: str, at_s: float) -> list[Line]:
        ledger = self.ledger
        flows = np.array(ledger.by_host.get(host, []), dtype=int)
        flows = flows[at_s - ledger.last_s[flows] < IDLE_S]
        known = flows.tolist()
        views = self._views(known, at_s)
        placed = [self._place(host, flow) for flow in known]
        vswitch: list[bytes] = []
        rnics: dict[str, list[bytes]] = {member.rnic: [] for member in self.world.on_host(host)}
        for flow, (at_source, rnic, rows), packets, idle_s in zip(
            known, placed, ledger.packets[flows].tolist(), self._idle(flows, placed, at_s), strict=True
        ):
            view = views.get(flow) if at_source else None
            state = FlowState(int(packets), idle_s) if view is None else self._viewed(flow, at_s, packets, idle_s, view)
            changing = state.render()
            vswitch += rows.in_vswitch(changing)
            if view is None or self.effects.views[view].in_rnic:
                rnics[rnic].append(rows.in_rnic(changing))
        return self._send(host, at_s, vswitch, rnics)

    def _place(self, host: str, flow: int) -> _Placed:
        known = self.placed.get((host, flow))
        if known is None:
            src, dst = (self.world.members[number] for number in self.ledger.pairs[flow])
            at_source = src.host == host
            name = f"ufid-{src.number:05x}{dst.number:05x}"
            rows = flow_rows(src, dst, name, VNI + src.number % 7, at_source)
            known = self.placed[host, flow] = _Placed(at_source, (src if at_source else dst).rnic, rows)
        return known

    def _idle(self, flows: np.ndarray, placed: list[_Placed], at_s: float) -> list[float]:
        """Seconds for which each flow was quiet, as its host's table says (which looks at its own moments)."""
        at_source = np.array([each.at_source for each in placed], dtype=bool)
        last_s = np.where(at_source, self.ledger.last_s[flows], self.ledger.received_s[flows])
        idle: list[float] = (np.maximum(0.0, at_s - last_s) + (flows * 0.618) % 0.9).tolist()
        return idle

    def _views(self, flows: list[int], at_s: float) -> dict[int, int]:
        """For each flow, the view that holds for it now."""
        active = [n for n, view in enumerate(self.effects.views) if view.when.holds(np.array([at_s]))[0]]
        if not active or not flows:
            return {}
        src, dst = (np.array([self.ledger.pairs[flow][end] for flow in flows]) for end in (0, 1))
        sport = np.array([edge_port(a, b) for a, b in zip(src.tolist(), dst.tolist(), strict=True)])
        epoch = self.world.paths.epoch_at(at_s)
        trains = Trains(src, dst, self.world.paths.look_up(src, dst, sport, epoch), sport, np.full(len(src), at_s))
        found: dict[int, int] = {}
        for number in active:
            touched = self.effects.views[number].where.crossings(trains, self.world.paths) > 0
            found.update({flows[n]: number for n in np.flatnonzero(touched).tolist()})
        return found

    def _viewed(self, flow: int, at_s: float, packets: float, idle_s: float, view_number: int) -> FlowState:
        """What the table says of a flow that a fault lets it see otherwise."""
        view: FlowView = self.effects.views[view_number]
        if view.frozen_s is not None:
            frozen = self.frozen.get(view.frozen_s)
            packets = packets if frozen is None or flow >= len(frozen) else float(frozen[flow])
            idle_s = at_s - view.frozen_s
        if view.period_s is not None:
            young = (at_s - view.when.first_s + flow * 0.37) % view.period_s
            packets, idle_s = packets % 997.0 * young, min(idle_s, young)
        return FlowState(int(packets), idle_s, view.offloaded, view.path)

    def _send(self, host: str, at_s: float, vswitch: list[bytes], rnics: dict[str, list[bytes]]) -> list[Line]:
        stream = self.registry.stream("flow-tables", host, "flow-dumper", machine=host, job={})
        head = b'"host":"%b","rnic":' % host.encode()
        body = head + b'null,"table":"vswitch","complete":true,"flows":[%b]' % b",".join(vswitch)
        lines = stream.send_raw(at_s, body)
        for place, (rnic, rows) in enumerate(sorted(rnics.items()), start=1):
            if self._hangs(f"{host}/{rnic}", at_s):
                continue
            body = head + b'"%b","table":"rnic","complete":true,"flows":[%b]' % (rnic.encode(), b",".join(rows))
            lines += stream.send_raw(at_s + 0.002 * place, body)
        return lines

    def _hangs(self, rnic: str, at_s: float) -> bool:
        """Whether the RNIC doesn't answer when it is asked for its table."""
        return any(name == rnic and when.holds(np.array([at_s]))[0] for name, when in self.effects.frozen_tables)
