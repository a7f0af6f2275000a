"""The plan of one job while it holds: who is probed when, by which ports, and how it changes when endpoints come and
go.

Slot time = max(slot_s, packets an RNIC may send / pps, what the busiest link may carry in a slot). With Δ = the most
pairs of one RNIC no schedule is shorter than Δ slots a pass; see ``colouring`` for how close this one comes. Slot k
of a round starts k slot times after the round's start, rounds follow one another, and within a slot starts are spread
over ``jitter_s``. Cost: ``draft`` that of the colouring and of the paths; ``change`` some 10 us per pair that comes
or goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from probe_planner.candidates import BasicCandidates, Candidates, NamePair
from probe_planner.extras import Directed, extra_slots
from probe_planner.layout import Layout, lay_out
from probe_planner.parameters import PlannerParameters
from probe_planner.ranking import ROUND, Limits, Selection, binds, select
from probe_planner.roster import Roster
from probe_planner.routes import Routes
from schemas.maps import JobFabric

Mode = Literal["basic", "skeleton", "disabled"]
JITTER = 0.2
"""Share of a slot over which starts are spread."""


@dataclass
class Draft:
    """See the module. ``left_out``: pairs without room, with the limit; ``beyond``: further ones, only counted."""

    parameters: PlannerParameters
    mode: Mode
    candidates: Candidates
    roster: Roster
    layout: Layout
    routes: Routes
    left_out: dict[NamePair, str] = field(default_factory=dict)
    beyond: int = 0
    extra: tuple[tuple[Directed, ...], ...] = ()

    @property
    def slots(self) -> int:
        """Slots of a round."""
        return self.layout.slots + len(self.extra)

    @property
    def slot_s(self) -> float:
        """Length of a slot, seconds."""
        return slot_time_s(self.parameters, self.routes.most_per_slot)

    @property
    def probes(self) -> int:
        """Trains in a round."""
        return len(self.layout.edge_of) * self.layout.passes + sum(map(len, self.extra))

    @property
    def round_s(self) -> float:
        """Length of a round, seconds."""
        return self.slots * self.slot_s

    @property
    def left_out_count(self) -> int:
        """All pairs that the plan leaves out."""
        return len(self.left_out) + self.beyond

    def route(self, earlier: Routes | None) -> None:
        """Chooses the ports; ``earlier``: a choice on the same fabric, whose wiring is used again."""
        if earlier is not None and earlier.fabric is self.routes.fabric:
            self.routes.borrow(earlier)
        placed = self.layout.placed()
        probes, slots = [probe[1:] for probe in placed], [probe[0] for probe in placed]
        self.routes.take(probes, self.roster.usable, slots)
        self.routes.settle_turns(self.roster.usable)

    def spare_slots(self) -> int:
        """Extra slots that the budget allows."""
        share = int(self.layout.slots * self.parameters.extra_share + 0.5)
        if self.parameters.round_s is None:
            return share
        return max(0, min(share, int(self.parameters.round_s / self.slot_s + 1e-9) - self.layout.slots))

    def suspect(self, components: dict[str, int]) -> bool:
        """Gives pairs that meet suspected components extra slots; whether that changes anything."""
        before, self.extra = self.extra, ()
        count = self.spare_slots() if components else 0
        if count:
            rnic_of = self.roster.rnics()
            weights = self._weights(components, rnic_of)
            self.extra = extra_slots(weights, rnic_of, count, self.parameters.probes_per_slot)
        return before != self.extra

    def _weights(self, components: dict[str, int], rnic_of: dict[str, str]) -> dict[NamePair, int]:
        heavy = {name: components.get(f"rnic:{rnic}", 0) for name, rnic in rnic_of.items()}
        weights = {pair: heavy[pair[0]] + heavy[pair[1]] for pair in self.layout.edge_of}
        wiring = self.routes.wiring
        if wiring is not None and any(name.startswith("link:") for name in components):
            load = np.array([components.get(f"link:{link}", 0) for link in wiring.links] + [0])
            probes = [
                probe for pair in self.layout.edge_of for probe in (pair, pair[::-1]) if probe in self.routes.port
            ]
            known, paths = self.routes.paths(probes, self.roster.usable)
            for number, weight in zip(known.tolist(), load[paths].sum(axis=1).tolist(), strict=True):
                src, dst = probes[number]
                weights[(src, dst) if src < dst else (dst, src)] += weight
        return {pair: weight for pair, weight in weights.items() if weight}


def most_per_pass(parameters: PlannerParameters, most_per_link: int = 0) -> int | None:
    """Probes of an RNIC that the longest wanted round holds in one pass; None = any."""
    if parameters.round_s is None:
        return None
    slots = int(parameters.round_s / slot_time_s(parameters, most_per_link) + 1e-9)
    return slots // parameters.passes * parameters.probes_per_slot


def slot_time_s(parameters: PlannerParameters, most_per_link: int = 0) -> float:
    """Length of a slot, seconds, when so many trains cross the busiest link in one."""
    train_bits = parameters.train_packets * parameters.packet_bytes * 8
    by_rnic = parameters.probes_per_slot * parameters.train_packets / parameters.pps_per_rnic
    by_link = most_per_link * train_bits / (parameters.link_share * parameters.link_gbps * 1e9)
    return max(parameters.slot_s, by_rnic, by_link)


def draft(
    parameters: PlannerParameters,
    mode: Mode,
    candidates: Candidates,
    roster: Roster,
    routes: tuple[JobFabric | None, Routes | None],
    budget: tuple[dict[str, int], dict[NamePair, int]],
) -> Draft:
    """A plan from the beginning. ``routes``: the fabric, and an earlier choice whose wiring can be used again;
    ``budget``: suspected components, and since when pairs have been left out.
    """
    pairs = candidates.all(roster) if mode != "disabled" else []
    most = most_per_pass(parameters)
    while True:
        chosen = _choose(pairs, (candidates, roster, budget), parameters, most)
        layout, left_out = _lay_out(chosen, roster, parameters, most)
        plan = Draft(parameters, mode, candidates, roster, layout, Routes(parameters, routes[0]), left_out)
        plan.route(routes[1])
        if most is None or plan.round_s <= (parameters.round_s or 0.0) + 1e-9 or not layout.edge_of:
            break
        # the busiest link stretches the slots; at least one probe fewer each time, or this would never end
        most = min(most - 1, most_per_pass(parameters, plan.routes.most_per_slot) or 0)
    plan.beyond = candidates.beyond(roster) if isinstance(candidates, BasicCandidates) and mode == "basic" else 0
    plan.suspect(budget[0])
    return plan


def _choose(
    pairs: list[NamePair],
    known: tuple[Candidates, Roster, tuple[dict[str, int], dict[NamePair, int]]],
    parameters: PlannerParameters,
    most: int | None,
) -> Selection:
    """The pairs that the budget holds."""
    candidates, roster, (components, left_since_us) = known
    limits = Limits(roster.rnics(), parameters.targets_per_rnic, most)
    if not binds(pairs, limits):
        return Selection(pairs)
    suspected = frozenset(name for name, rnic in limits.rnic_of.items() if f"rnic:{rnic}" in components)
    return select(candidates.ranked(pairs), limits, suspected, left_since_us)


def _lay_out(
    chosen: Selection, roster: Roster, parameters: PlannerParameters, most: int | None
) -> tuple[Layout, dict[NamePair, str]]:
    """Slots for the chosen pairs, and all that is left out."""
    layout = lay_out(chosen.kept, roster.rnics(), parameters.passes, parameters.probes_per_slot)
    if most is None or layout.colouring.colours <= most:
        return layout, chosen.left_out
    pairs, gone = _within_slots(layout, most)
    layout = lay_out(pairs, roster.rnics(), parameters.passes, parameters.probes_per_slot)
    return layout, chosen.left_out | dict.fromkeys(gone, ROUND)


def _within_slots(layout: Layout, most: int) -> tuple[list[NamePair], list[NamePair]]:
    """Leaves out the smallest slots when the colouring needed more than ``most``."""
    sizes: dict[int, int] = {}
    for colour in layout.colouring.colour:
        sizes[colour] = sizes.get(colour, 0) + 1
    kept = set(sorted(sizes, key=lambda colour: (-sizes[colour], colour))[:most])
    pairs = [(pair, layout.colouring.colour[edge] in kept) for pair, edge in layout.edge_of.items()]
    return [pair for pair, stays in pairs if stays], [pair for pair, stays in pairs if not stays]
