"""Which pairs get extra probes while something is suspected?

A pair weighs the open anomalies that point at its RNICs, and at the links on its path where paths are known. Extra
slots are filled one after the other with the heaviest pairs whose RNICs are free in that slot, those that had fewest
extra probes first; source and destination take turns. The slots come on top of the round, at most ``extra_share`` of
it and never beyond the longest round that is wanted, so no RNIC and no link gets more than its budget: the others are
probed a little less often while suspicion lasts. Cost: O(suspected pairs x extra slots).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe_planner.candidates import NamePair

Directed = tuple[str, str]


def extra_slots(
    weights: Mapping[NamePair, int], rnic_of: Mapping[str, str], count: int, per_slot: int
) -> tuple[tuple[Directed, ...], ...]:
    """Probes of ``count`` extra slots; ``weights`` of the suspected pairs."""
    had = dict.fromkeys(sorted(weights), 0)
    slots = []
    for number in range(count):
        slot = _fill(sorted(had, key=lambda pair: (had[pair], -weights[pair], pair)), rnic_of, per_slot)
        for pair in slot:
            had[pair] += 1
        slots.append(tuple(sorted(pair if number % 2 == 0 else (pair[1], pair[0]) for pair in slot)))
    return tuple(slot for slot in slots if slot)


def _fill(pairs: Sequence[NamePair], rnic_of: Mapping[str, str], per_slot: int) -> list[NamePair]:
    busy: dict[str, int] = {}
    chosen = []
    for pair in pairs:
        ends = [rnic_of[name] for name in pair]
        if all(busy.get(rnic, 0) < per_slot for rnic in ends):
            chosen.append(pair)
            for rnic in ends:
                busy[rnic] = busy.get(rnic, 0) + 1
    return chosen
