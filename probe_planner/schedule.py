"""When is each pair probed? Pairs to slots, so that within a slot no RNIC takes part in more than one probe.

A slot is as long as a train needs and as the packet budget asks for: slot time = max(slot_s, train_packets /
pps_per_rnic). With Δ = the most probes that one RNIC takes part in per round, no schedule is shorter than Δ slots;
see ``colouring`` for how close this one comes. Slot k of a round starts k slot times after the round's start, and
rounds follow one another.

With directions "both" the slots are gone through twice, the second time with source and destination swapped.
Source ports spread the pairs over the equal-cost paths and stay the same from plan to plan.
Cost: that of the colouring, and O(probes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from probe_planner.candidates import NamePair
from probe_planner.colouring import colour_edges, max_degree
from probe_planner.parameters import PlannerParameters
from schemas.probing import ExpectedRound, Probe

Slots = tuple[tuple[Probe, ...], ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Probes by slot, and what a round of them takes."""

    slots: Slots
    expected: ExpectedRound


def schedule(pairs: Sequence[NamePair], rnic_of: Mapping[str, str], parameters: PlannerParameters) -> Schedule:
    """Slots for ``pairs`` (most important first); ``rnic_of`` names the physical RNIC of each endpoint.

    What the longest wanted round can't hold is left out, the least important pairs first.
    """
    passes = 2 if parameters.directions == "both" else 1
    slot_s = slot_time_s(parameters)
    most = None if parameters.round_s is None else int(parameters.round_s / slot_s + 1e-9) // passes
    kept = list(pairs) if most is None else _within_degree(pairs, rnic_of, most)
    vertices, edges = _graph(kept, rnic_of)
    colours = colour_edges(vertices, edges)
    if most is not None:
        kept, colours = _within_slots(kept, colours, most)
    slots = _passes(_by_colour(kept, colours, parameters), passes)
    degree = max_degree(*_graph(kept, rnic_of))
    expected = ExpectedRound(
        round_s=round(len(slots) * slot_s, 6),
        probes=sum(map(len, slots)),
        lower_bound_s=round(passes * degree * slot_s, 6),
    )
    return Schedule(slots, expected)


def slot_time_s(parameters: PlannerParameters) -> float:
    """Length of a slot, seconds."""
    return max(parameters.slot_s, parameters.train_packets / parameters.pps_per_rnic)


def source_port(src: str, dst: str, parameters: PlannerParameters) -> int:
    """UDP source port of a pair: spread evenly, the same in every plan."""
    return parameters.first_port + crc32(f"{src}>{dst}".encode()) % min(
        parameters.ports, 65_536 - parameters.first_port
    )


def _graph(pairs: Sequence[NamePair], rnic_of: Mapping[str, str]) -> tuple[int, list[tuple[int, int]]]:
    rnics = sorted({rnic_of[name] for pair in pairs for name in pair})
    vertex = {rnic: index for index, rnic in enumerate(rnics)}
    return len(rnics), [(vertex[rnic_of[a]], vertex[rnic_of[b]]) for a, b in pairs]


def _within_degree(pairs: Sequence[NamePair], rnic_of: Mapping[str, str], most: int) -> list[NamePair]:
    probes: dict[str, int] = {}
    kept = []
    for a, b in pairs:
        ends = rnic_of[a], rnic_of[b]
        if all(probes.get(rnic, 0) < most for rnic in ends):
            for rnic in ends:
                probes[rnic] = probes.get(rnic, 0) + 1
            kept.append((a, b))
    return kept


def _within_slots(pairs: Sequence[NamePair], colours: Sequence[int], most: int) -> tuple[list[NamePair], list[int]]:
    """Leaves out the smallest slots when the colouring needed more than ``most``."""
    sizes: dict[int, int] = {}
    for colour in colours:
        sizes[colour] = sizes.get(colour, 0) + 1
    kept = sorted(sorted(sizes, key=lambda colour: (-sizes[colour], colour))[:most])
    renamed = {colour: slot for slot, colour in enumerate(kept)}
    chosen = [(pair, renamed[colour]) for pair, colour in zip(pairs, colours, strict=True) if colour in renamed]
    return [pair for pair, _ in chosen], [slot for _, slot in chosen]


def _by_colour(pairs: Sequence[NamePair], colours: Sequence[int], parameters: PlannerParameters) -> list[list[Probe]]:
    slots: list[list[Probe]] = [[] for _ in range(max(colours, default=-1) + 1)]
    for (a, b), colour in sorted(zip(pairs, colours, strict=True)):
        src, dst = (a, b) if colour % 2 == 0 else (b, a)
        slots[colour].append((src, dst, source_port(src, dst, parameters)))
    return slots


def _passes(slots: list[list[Probe]], passes: int) -> Slots:
    forward = tuple(tuple(slot) for slot in slots)
    back = tuple(tuple((dst, src, port) for src, dst, port in slot) for slot in slots)
    return forward + back if passes == 2 else forward
