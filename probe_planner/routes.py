"""Which source port does each probe have, in which turn, and which links does that cover?

Keeps the choice of ``ports`` for a plan, so that pairs can come and go: those that stay keep their ports, what comes is
given ports for what is missing. Three cases by what the fabric map says: *hash*, paths are computed and chosen;
*traced*, each probe keeps its own port, and those that could cross a link of which the number of probes makes us not
sure change theirs in further turns (``odds``); no map, every probe keeps its own port and nothing is said of
coverage. Endpoints that the map does not show, or without address, count as not mapped.

Derived tables are not pickled; they are worked out again when needed. Cost: 0.15 s for 35,000 probes on 2,048 RNICs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from probe_planner.crossings import Crossings, flow_numbers, no_crossings
from probe_planner.hashing import Ints, crcs, join
from probe_planner.odds import Odds, no_odds
from probe_planner.parameters import PlannerParameters
from probe_planner.paths import Flows, flow_hash
from probe_planner.ports import Aims, choose_ports, own_choice
from probe_planner.wiring import Wiring, read_wiring
from schemas.maps import Endpoint, JobFabric
from schemas.probing import PathCoverage, PortTurns

Directed = tuple[str, str]
Placing = Mapping[str, Endpoint]
STEP = 6_257
"""Between the ports of turns where paths are not known."""


@dataclass
class Routes:
    """See the module. ``port`` and ``later`` (ports of turns 1, 2, ...) by directed pair; ``most_per_slot`` on one
    link."""

    parameters: PlannerParameters
    fabric: JobFabric | None = None
    port: dict[Directed, int] = field(default_factory=dict)
    later: dict[Directed, tuple[int, ...]] = field(default_factory=dict)
    crossings: Crossings | None = None
    odds: Odds | None = None
    turns: int = 1
    most_per_slot: int = 0
    _wiring: Wiring | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_wiring": None}

    @property
    def span(self) -> int:
        """Number of ports that may be used."""
        return min(self.parameters.ports, 65_536 - self.parameters.first_port)

    @property
    def wiring(self) -> Wiring | None:
        """The fabric map as arrays."""
        if self._wiring is None and self.fabric is not None:
            rnics = [node.id for node in self.fabric.nodes if node.kind == "rnic"]
            self._wiring = read_wiring(self.fabric.nodes, self.fabric.links, rnics)
        return self._wiring

    def borrow(self, earlier: Routes) -> None:
        """Takes over the tables of an earlier choice on the same fabric."""
        self._wiring = earlier._wiring

    def port_of(self, src: str, dst: str) -> int:
        """The port of a probe in turn 0; one against the direction of the plan's has the same."""
        port = self.port.get((src, dst))
        return self.port[dst, src] if port is None else port

    def take(self, probes: Sequence[Directed], places: Placing, slots: Sequence[int] = ()) -> None:
        """Gives new probes their ports. ``slots`` of a whole plan: counts trains on the busiest link of a slot."""
        ends = _Ends(probes)
        own = ends.own_ports(self.span)
        known, flows = self._flows(ends, places)
        if flows is not None and len(known):
            slot = np.array(slots, dtype=np.int64)[known] if len(slots) else np.zeros(0, dtype=np.int64)
            own[known] = self._choose(probes, known, flows, own[known], slot)
        first = self.parameters.first_port
        self.port.update(zip(probes, (own + first).tolist(), strict=True))

    def _choose(self, probes: Sequence[Directed], known: Ints, flows: Flows, own: Ints, slot: Ints) -> Ints:
        ways = flows.possible()
        if flows.hash is None:
            self._note_odds(flows, ways, 1)
            return own
        crossings = self._crossings(flows)
        choice = own_choice(flows, own)
        crossings.add(choice.paths, choice.number)
        crossings.allow(ways, flow_numbers(flows.source, flows.target, np.zeros_like(own)))
        bounds = self.parameters
        choose_ports(flows, crossings, choice, ways, Aims(bounds.alpha, bounds.most_turns, self.span))
        for (row, _), port in sorted(choice.later.items()):
            probe = probes[int(known[row])]
            self.later[probe] = (*self.later.get(probe, ()), port + bounds.first_port)
        self.turns = 1 + max((len(ports) for ports in self.later.values()), default=0)
        if len(slot):
            keys = slot[:, None] * len(flows.wiring.links) + choice.paths
            self.most_per_slot = int(np.bincount(keys[choice.paths >= 0]).max(initial=0))
        return choice.port

    def drop(self, probes: Iterable[Directed], places: Placing) -> None:
        """Takes probes out; ``places`` as they were when they came."""
        gone = list(probes)
        known, flows = self._flows(_Ends(gone), places)
        if flows is not None and len(known):
            ways = flows.possible()
            if flows.hash is None:
                self._note_odds(flows, ways, -1)
            else:
                self._uncount(gone, known, flows, ways)
        for probe in gone:
            del self.port[probe]
            self.later.pop(probe, None)

    def _uncount(self, gone: Sequence[Directed], known: Ints, flows: Flows, ways: Ints) -> None:
        crossings = self._crossings(flows)
        crossings.allow(ways, flow_numbers(flows.source, flows.target, np.zeros(len(known), dtype=np.int64)), -1)
        first = self.parameters.first_port
        used = [
            (row, port - first)
            for row, number in enumerate(known.tolist())
            for port in (self.port[gone[number]], *self.later.get(gone[number], ()))
        ]
        row, port = np.array(used, dtype=np.int64).T
        crossings.add(flows.hashed(row, port), flow_numbers(flows.source[row], flows.target[row], port), -1)

    def paths(self, probes: Sequence[Directed], places: Placing) -> tuple[Ints, Ints]:
        """Which probes' paths are known (indices), and their links in turn 0, padded with -1."""
        known, flows = self._flows(_Ends(probes), places)
        if flows is None or flows.hash is None or not len(known):
            return np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64)
        ports = np.array([self.port[probes[number]] for number in known.tolist()], dtype=np.int64)
        return known, flows.hashed(np.arange(len(known)), ports - self.parameters.first_port)

    def _flows(self, probes: _Ends, places: Placing) -> tuple[Ints, Flows | None]:
        """Indices of the probes whose ends are mapped, and their flows."""
        wiring = self.wiring
        if wiring is None or self.fabric is None or not len(probes.ends):
            return np.zeros(0, dtype=np.int64), None
        names, method = probes.names, self.fabric.ecmp.method
        node = np.array([_row(wiring, places.get(name), method) for name in names], dtype=np.int64)
        known = np.flatnonzero((node[probes.ends] >= 0).all(axis=1))
        source, target = probes.ends[known, 0], probes.ends[known, 1]
        addresses = [place.ip or "" if (place := places.get(name)) else "" for name in names]
        ports = (self.parameters.first_port, self.span)
        hashing, salt_of = flow_hash(self.fabric.ecmp, wiring, addresses, (source, target), ports)
        return known, Flows(wiring, node[source], node[target], hashing, salt_of)

    def _crossings(self, flows: Flows) -> Crossings:
        if self.crossings is None:
            self.crossings = no_crossings(len(flows.wiring.links))
        return self.crossings

    def _note_odds(self, flows: Flows, ways: Ints, sign: int) -> None:
        if self.odds is None:
            self.odds = no_odds(len(flows.wiring.links))
        self.odds.allow(ways, sign)

    def settle_turns(self, places: Placing) -> None:
        """Where paths are only traced: which probes change their ports in further turns, and how many these are."""
        if self.odds is None:
            return
        alpha, confidence = self.parameters.alpha, self.parameters.confidence
        self.turns = self.odds.turns_needed(alpha, self.parameters.most_turns, confidence)
        self.later = {}
        if self.turns == 1:
            return
        probes = sorted(self.port)
        known, flows = self._flows(_Ends(probes), places)
        if flows is None:
            return
        unsure = np.zeros(len(self.odds.able), dtype=bool)
        unsure[self.odds.unsure(alpha, confidence)] = True
        first = self.parameters.first_port
        for number in known[unsure[flows.possible()].any(axis=(1, 2))].tolist():
            own = self.port[probes[number]] - first
            self.later[probes[number]] = tuple(first + (own + STEP * n) % self.span for n in range(1, self.turns))

    def coverage(self) -> PathCoverage | None:
        """What is achieved; None = no map."""
        if self.crossings is not None:
            return self.crossings.summary(self.parameters.alpha, self.most_per_slot)
        if self.odds is not None:
            return self.odds.summary(self.parameters.alpha, self.turns, self.parameters.confidence)
        return None

    def port_turns(self, round_s: float) -> PortTurns | None:
        """The turns as the plan says them; None = ports do not change."""
        if not self.later or round_s <= 0.0:
            return None
        changing = tuple((src, dst, self._all_turns(src, dst)) for src, dst in sorted(self.later))
        rounds = max(1, round(self.parameters.turn_s / round_s))
        return PortTurns(turns=self.turns, turn_rounds=rounds, changing=changing)

    def _all_turns(self, src: str, dst: str) -> tuple[int, ...]:
        ports = self.later[src, dst]
        return ports + (self.port[src, dst],) * (self.turns - 1 - len(ports))


class _Ends:
    """Directed pairs as indices into their names, shape (pairs, 2)."""

    def __init__(self, probes: Sequence[Directed]) -> None:
        flat = list(chain.from_iterable(probes))
        self.names = list(dict.fromkeys(flat))
        number = {name: index for index, name in enumerate(self.names)}
        self.ends = np.array([number[name] for name in flat], dtype=np.int64).reshape(-1, 2)

    def own_ports(self, span: int) -> Ints:
        """The own port of each pair, as an index: crc32(``<src>><dst>``) modulo ``span``, the same in every plan."""
        heads, tails = crcs([f"{name}>" for name in self.names]), crcs(self.names)
        length = np.array([len(name.encode()) for name in self.names], dtype=np.int64)
        source, target = self.ends.T
        whole: Ints = join(heads[source], tails[target], length[target]).astype(np.int64) % span
        return whole


def _row(wiring: Wiring, place: Endpoint | None, method: str) -> int:
    if place is None or (method == "hash" and place.ip is None):
        return -1
    return wiring.rnic.get(f"{place.host}/{place.rnic}", -1)
